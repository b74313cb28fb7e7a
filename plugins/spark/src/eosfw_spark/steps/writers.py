"""The writer of steps' outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eosfw.ids import TopicPartition
from eosfw.protocols import Step
from eosfw.records import OffsetRange
from eosfw_spark.steps.checks import resolved
from eosfw_spark.steps.outputs.console_output import ConsoleOutput
from eosfw_spark.steps.outputs.file_output import DeltaOutput, FileOutput, IcebergOutput
from eosfw_spark.steps.outputs.step_output import StepOutput
from eosfw_spark.steps.outputs.topic_output import TopicOutput
from eosfw_spark.steps.step_options import NUM_ROWS, shown_rows, writer_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_NO_RANGES: Final[Mapping[TopicPartition, OffsetRange]] = {}


@dataclass(frozen=True, slots=True)
class StepWriter:
    """Writes the rows of steps; topics are those of one cluster, reached through one backend."""

    backend: str
    properties: Mapping[str, str]
    folder: str
    fresh: bool = False
    """Whether checkpoints begin with this run, so that what a streaming step wrote before is replaced."""

    def replace(self, frame: DataFrame, step: Step, ranges: Mapping[TopicPartition, OffsetRange]) -> int:
        """Write the rows of a batch step over these ranges, replace what it wrote before; how many there are."""
        return self._output(step, ranges).write(frame)

    def start(self, stream: DataStreamWriter, step: Step, *, new: bool) -> StreamingQuery:
        """Start the query of a streaming step; `new` says that its checkpoint begins with it."""
        stream = stream.outputMode(step.output_mode or "append")
        return self._output(step, _NO_RANGES).start(stream, new=new)

    def _output(self, step: Step, ranges: Mapping[TopicPartition, OffsetRange]) -> StepOutput:
        options, place = writer_options(step), resolved(step.output, self.folder)
        match step.output_format:
            case "console":
                return ConsoleOutput(step.name, shown_rows(step.output_options.get(NUM_ROWS)))
            case "topic":
                return TopicOutput(step, options, self.backend, self.properties, ranges)
            case "delta":
                return DeltaOutput(place, options, self.fresh)
            case "iceberg":
                return IcebergOutput(step.output, options, self.fresh)
            case _:
                return FileOutput(place, step.output_format, options, self.fresh)
