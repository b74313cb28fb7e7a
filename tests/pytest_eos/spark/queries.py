"""Streaming queries that tests run in drivers of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosfw.observe import TaskStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PER_BATCH = "6"


def copy(spark: SparkSession, options: Mapping[str, str]) -> Any:
    """Copy a topic into another one by our exactly-once sink."""
    return _rows(spark, options).writeStream.format("eosfw").options(**_cluster(options)).option("topic", options["to"])


def copy_in_parallel(spark: SparkSession, options: Mapping[str, str]) -> Any:
    """The same in mode `parallel`: each task has a transaction of its own."""
    return copy(spark, options).options(mode="parallel", writers="2")


def append(spark: SparkSession, options: Mapping[str, str]) -> Any:
    """Append each batch to a folder, which no restart can know of: broken on purpose."""
    folder = Path(options["to"])

    def write(batch: DataFrame, number: int) -> None:
        from eosfw_spark.micro_batch import announce

        announce(TaskStep.COMMIT_BATCH, query="append", batch=number)
        batch.selectExpr("cast(value as string) as value").write.mode("append").parquet(str(folder))
        announce(TaskStep.COMMITTED_BATCH, query="append", batch=number)

    return _rows(spark, options).writeStream.foreachBatch(write)


def parquet(spark: SparkSession, options: Mapping[str, str]) -> Any:
    """Write a folder of parquet files by Spark's own sink, which keeps a log of finished batches."""
    rows = _rows(spark, options).selectExpr("cast(value as string) as value")
    return rows.writeStream.format("parquet").option("path", options["to"])


def _rows(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    reader = spark.readStream.format("eosfw").options(**_cluster(options)).option("subscribe", options["from"])
    return reader.options(startingOffsets="earliest", maxOffsetsPerTrigger=PER_BATCH).load().select("key", "value")


def _cluster(options: Mapping[str, str]) -> dict[str, str]:
    return {name: options[name] for name in ("backend", "kafka.bootstrap.servers")}
