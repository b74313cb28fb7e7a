"""The outputs of steps: files, tables, topics, the console."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eosfw.errors import StepFailedError
from eosfw.protocols import Step
from eosfw_spark.option_parser import KAFKA
from eosfw_spark.steps.checks import resolved
from eosfw_spark.steps.output import Output, refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FILES: Final = ("parquet", "csv", "json")
_CONSOLE_ROWS: Final = 20


@dataclass(frozen=True, slots=True)
class StepWriter:
    """Writes the rows of steps; topics are those of one cluster, reached through one backend."""

    backend: str
    properties: Mapping[str, str]
    folder: str
    fresh: bool = False
    """Whether checkpoints begin with this run, so that what a streaming step wrote before is replaced."""

    def replace(self, frame: DataFrame, step: Step) -> int:
        """Write the rows of a batch step, replace what the step wrote before, and return how many there are."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

        counted = Observation()
        frame = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
        if step.output_format in FILES:
            self._replace_files(frame, step)
        elif step.output_format == "console":
            _show(frame)
            return int(counted.get["rows"])
        elif step.output_format == "delta":
            frame.write.format("delta").options(**step.output_options).mode("overwrite").save(self._path(step))
        else:
            frame.writeTo(step.output).using("iceberg").options(**step.output_options).createOrReplace()
        return int(counted.get["rows"])

    def _replace_files(self, frame: DataFrame, step: Step) -> None:
        output = Output(resolved(step.output, self.folder))
        try:
            place = output.prepare()
            frame.write.mode("overwrite").options(**step.output_options).format(step.output_format).save(str(place))
            output.replace()
        except (Exception, SystemExit):
            output.discard()
            raise

    def start(self, stream: DataStreamWriter, step: Step, *, new: bool) -> StreamingQuery:
        """Start the query of a streaming step; `new` says that its checkpoint begins with it."""
        options = step.output_options
        stream = stream.outputMode(step.output_mode or "append")
        if step.output_format == "console":
            return stream.foreachBatch(lambda frame, number: _show(frame, f"{step.name}, batch {number}")).start()
        if step.output_format == "topic":
            return stream.format("eosfw").options(**{**self._cluster(), **options}).option("topic", step.output).start()
        if step.output_format == "iceberg":
            return stream.format("iceberg").options(**options).toTable(step.output)
        if new:
            self._require_empty(step)
        return stream.format(step.output_format).options(**options).option("path", self._path(step)).start()

    def _cluster(self) -> dict[str, str]:
        return {"backend": self.backend, **{KAFKA + name: value for name, value in self.properties.items()}}

    def _path(self, step: Step) -> str:
        return str(resolved(step.output, self.folder))

    def _require_empty(self, step: Step) -> None:
        place = resolved(step.output, self.folder)
        if not place.exists():
            return
        if problem := refusal(place):
            raise StepFailedError(problem)
        if self.fresh:
            shutil.rmtree(place)
        elif any(Path(place).iterdir()):
            raise StepFailedError(
                f"output {place} holds rows of an earlier query, whose checkpoint is gone: delete it, or name"
                " another output"
            )


def _show(frame: DataFrame, title: str | None = None) -> None:
    """Print rows to stderr, since stdout belongs to the summary."""
    rows = frame.limit(_CONSOLE_ROWS).toArrow().to_pylist()
    lines = ["  ".join(f"{name}={value}" for name, value in row.items()) for row in rows]
    sys.stderr.write("".join(f"{line}\n" for line in ([] if title is None else [f"-- {title}"]) + lines))
