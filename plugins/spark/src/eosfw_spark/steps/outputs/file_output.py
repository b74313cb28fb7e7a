"""Outputs that Spark writes by itself: folders of files (Spark's `FileStreamSink`), tables of Delta and Iceberg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eosfw.errors import StepFailedError
from eosfw_spark.steps.output import Output, begin_stream
from eosfw_spark.steps.outputs.step_output import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@dataclass(frozen=True, slots=True)
class FileOutput:
    """A batch replaces the folder as a whole; a stream adds files, each batch's exactly once."""

    folder: Path
    format: str
    options: Mapping[str, str]
    fresh: bool

    def write(self, frame: DataFrame) -> int:
        """Write beside the folder, then take its place."""
        output = Output(self.folder)
        try:
            place = str(output.prepare())
            rows = counted(
                frame, lambda seen: seen.write.mode("overwrite").options(**self.options).format(self.format).save(place)
            )
            output.replace()
        except (Exception, SystemExit):
            output.discard()
            raise
        return rows

    def start(self, stream: DataStreamWriter, *, new: bool) -> StreamingQuery:
        """Go on in the folder, or begin in an empty one."""
        if new:
            begin_stream(self.folder, replaced=self.fresh)
        return stream.format(self.format).options(**self.options).option("path", str(self.folder)).start()


@dataclass(frozen=True, slots=True)
class DeltaOutput:
    """A batch is a new version of the table; a stream's batches are told apart by Delta itself (`txnAppId`)."""

    folder: Path
    options: Mapping[str, str]
    fresh: bool

    def write(self, frame: DataFrame) -> int:
        """Replace the rows by a new version, which may have other columns."""
        settings = {"overwriteSchema": "true", **self.options}
        return counted(
            frame,
            lambda seen: seen.write.format("delta").options(**settings).mode("overwrite").save(str(self.folder)),
        )

    def start(self, stream: DataStreamWriter, *, new: bool) -> StreamingQuery:
        """Go on in the table, or begin a new one."""
        if new:
            begin_stream(self.folder, replaced=self.fresh, also=("_delta_log",))
        return stream.format("delta").options(**self.options).option("path", str(self.folder)).start()


@dataclass(frozen=True, slots=True)
class IcebergOutput:
    """A table of a catalog that the session's settings name."""

    table: str
    options: Mapping[str, str]
    fresh: bool

    def write(self, frame: DataFrame) -> int:
        """Replace the table by a new version."""
        return counted(
            frame,
            lambda seen: seen.writeTo(self.table).using("iceberg").options(**self.options).createOrReplace(),
        )

    def start(self, stream: DataStreamWriter, *, new: bool) -> StreamingQuery:
        """Go on in the table, or begin an empty one."""
        if new:
            self._begin()
        return stream.format("iceberg").options(**self.options).toTable(self.table)

    def _begin(self) -> None:
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        if spark is None or not spark.catalog.tableExists(self.table) or spark.table(self.table).isEmpty():
            return
        if not self.fresh:
            raise StepFailedError(
                f"table {self.table} holds rows of an earlier query, whose checkpoint is gone: drop it, or name"
                " another output"
            )
        spark.sql(f"DROP TABLE {self.table}")
