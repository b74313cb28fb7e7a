"""The DataFrames of topics, within given offset ranges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, cast

from eosfw.config.parts import PartChoice
from eosfw.errors import StepFailedError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, StepInput
from eosfw.records import OffsetRange
from eosfw_spark.option_parser import KAFKA
from eosfw_spark.source.option_values import offsets_json
from eosfw_spark.source.options import ISOLATION, READER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

CSV: Final = {"mode": "FAILFAST", "escape": '"'}
"""A quote within quotes is doubled, as in RFC 4180 and the connector `file`; Spark's default is a backslash."""
WORTH_SPLITTING: Final = 50_000
"""The number of offsets below which a second Spark task costs more than it saves."""


SPARK_KAFKA: Final = "kafka"
"""Spark's own Kafka source, which shows uncommitted records unless it is told otherwise."""
Reader = TypeVar("Reader", "DataFrameReader", "DataStreamReader")


@dataclass(frozen=True, slots=True)
class Tables:
    """Reads topics of one cluster through one backend."""

    spark: SparkSession
    backend: str
    properties: Mapping[str, str]
    reader: PartChoice

    def of_topic(
        self,
        topic: str,
        ranges: Mapping[TopicPartition, OffsetRange],
        *,
        headers: bool = False,
        given: StepInput | None = None,
    ) -> DataFrame:
        """The records of a topic within exactly these ranges, with Kafka's columns."""
        wanted = {partition: offsets for partition, offsets in ranges.items() if partition.topic == topic}
        if not wanted:
            raise StepFailedError(f"no topic {topic} among what is to be read")
        reader = self._connected(self.spark.read, "eosfw" if given is None else source_format(given))
        return (
            reader.option("assign", json.dumps({topic: sorted(each.partition for each in wanted)}))
            .option("startingOffsets", offsets_json({each: offsets.start for each, offsets in wanted.items()}))
            .option("endingOffsets", offsets_json({each: offsets.end for each, offsets in wanted.items()}))
            .option("minPartitions", self._tasks(wanted))
            .option("includeHeaders", headers)
            .load()
        )

    def of_stream(self, given: StepInput) -> DataFrame:
        """An input of a streaming step, from the beginning of its topic."""
        reader, source = self.spark.readStream, source_format(given)
        # What the file says comes first: which topic is read, and what of it is committed, is not for options.
        reader = self._connected(reader.option("startingOffsets", "earliest").options(**given.options), source)
        reader = reader.option("subscribe", given.topic)
        return _with_schema(reader.option("includeHeaders", "true").load(), given)

    def _connected(self, reader: Reader, source: str) -> Reader:
        """The reader with the options of the cluster; Spark's own source is told to read what is committed alone."""
        reader = reader.format(source)
        for name, value in self.properties.items():
            reader = reader.option(KAFKA + name, value)
        if source == SPARK_KAFKA:
            return reader.option(KAFKA + ISOLATION, IsolationLevel.READ_COMMITTED.value)
        if self.reader.name is not None:
            reader = reader.option(READER, self.reader.name)
        for name, value in self.reader.properties.items():
            reader = reader.option(f"{READER}.{name}", value)
        return reader.option("backend", self.backend)

    def _tasks(self, ranges: Mapping[TopicPartition, OffsetRange]) -> int:
        size = sum(offsets.end - offsets.start for offsets in ranges.values())
        return self.spark.sparkContext.defaultParallelism if size >= WORTH_SPLITTING else 1

    def of_input(self, given: StepInput, ranges: Mapping[TopicPartition, OffsetRange]) -> DataFrame:
        """An input of a step: Kafka's columns with headers, and the columns of the value if it has a schema."""
        return _with_schema(self.of_topic(given.topic, ranges, headers=True, given=given), given)


def source_format(given: StepInput) -> str:
    """The format by which Spark reads an input."""
    return SPARK_KAFKA if given.reader == "spark-kafka" else "eosfw"


def _with_schema(frame: DataFrame, given: StepInput) -> DataFrame:
    if given.format is None or given.schema is None:
        return frame
    return parsed(frame, given.format, given.schema)


def parsed(frame: DataFrame, written_as: str, ddl: str) -> DataFrame:
    """Add the columns of the value; a value that does not fit the schema fails the step, it does not become null."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know
    from pyspark.sql.types import StructType

    schema = cast("StructType", StructType.fromDDL(ddl))
    text = F.col("value").cast("string")
    if written_as == "csv":
        found = F.from_csv(text, ddl, CSV)
        added = [F.col("__value")[field.name].alias(field.name) for field in schema]
    else:
        found = F.from_json(text, _as_texts(schema), {"mode": "FAILFAST"})
        added = [_typed(F.col("__value")[field.name], schema, field.name) for field in schema]
    return frame.withColumn("__value", found).select(*frame.columns, *added)


def _as_texts(schema: StructType) -> StructType:
    """The schema with text for plain types: both `"7"` and `7` are then cast to a number, strictly."""
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructField, StructType, VariantType

    kept = (ArrayType, MapType, StructType, BinaryType, VariantType)
    return StructType(
        [StructField(f.name, f.dataType if isinstance(f.dataType, kept) else StringType()) for f in schema]
    )


def _typed(column: Column, schema: StructType, name: str) -> Column:
    return column.cast(schema[name].dataType).alias(name)
