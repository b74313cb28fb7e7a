"""Folders of parquet, CSV or JSON files (Spark's `FileStreamSink`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
