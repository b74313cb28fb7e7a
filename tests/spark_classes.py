"""Class data sharing for Spark: an archive with which each JVM of a test run starts in half the time (JEP 350)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from real_kafka import QUICK

ARCHIVE = Path(sys.prefix, "spark-classes.jsa")
"""In the environment whose PySpark it is made of: a JVM with other jars does without it."""
_PROGRAM = """
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter

class Numbers(DataSource, DataSourceReader, DataSourceWriter):
    def schema(self): return "id BIGINT"
    def reader(self, schema): return self
    def writer(self, schema, overwrite): return self
    def read(self, partition): return iter([(1,)])
    def write(self, rows): return None

quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
spark = SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate()
spark.dataSource.register(Numbers)
numbers = spark.read.format("Numbers").load()
numbers.write.format("Numbers").mode("append").save()
numbers.selectExpr("id", "to_json(struct(id)) AS value").write.parquet("rows")
spark.read.parquet("rows").createOrReplaceTempView("rows")
spark.sql("SELECT id, count(*) FROM rows WHERE value IS NOT NULL GROUP BY id ORDER BY id").collect()
stream = spark.readStream.schema("id BIGINT, value STRING").parquet("rows").writeStream
stream.trigger(availableNow=True).option("checkpointLocation", "checkpoint").start("copy").awaitTermination()
spark.stop()
"""


def archive_classes() -> None:
    """Make the archive unless it is there already; where that fails, JVMs start as ever."""
    if ARCHIVE.exists():
        return
    with TemporaryDirectory() as folder:
        made = Path(folder, ARCHIVE.name)
        options = [*QUICK, "-Xlog:disable", f"-XX:ArchiveClassesAtExit={made}"]
        environment = {**os.environ, "SPARK_SUBMIT_OPTS": " ".join(options), "PYSPARK_PYTHON": sys.executable}
        # The JVM holds the pipes, so that this ends when it does, the archive written.
        subprocess.run([sys.executable, "-c", _PROGRAM], cwd=folder, env=environment, capture_output=True, check=False)
        if made.exists():
            made.replace(ARCHIVE)


def java_options() -> str:
    """What Spark's JVMs are started with: no second compiler, which takes half of a short JVM's time; the archive."""
    shared = [f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:disable"] if ARCHIVE.exists() else []
    return " ".join([*QUICK, *shared])
