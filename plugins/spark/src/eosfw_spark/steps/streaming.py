"""The streaming query of a step."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import StepFailedError
from eosfw.protocols import AVAILABLE_NOW, QueryProgress, Step
from eosfw_spark.root_cause import step_failure
from eosfw_spark.steps.checkpoint import Checkpoint
from eosfw_spark.steps.checks import resolved
from eosfw_spark.steps.query_progress import NOTHING, advanced
from eosfw_spark.steps.writers import StepWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

logger = logging.getLogger(__name__)

_EAGER: Final = "500 milliseconds"
"""The interval where none is asked for: without one, Spark asks the cluster for offsets a hundred times a second."""

_LOGS: Final = {**dict.fromkeys(("parquet", "csv", "json"), "_spark_metadata"), "delta": "_delta_log"}
"""In an output folder: what a query has written there."""


_LATE: Final = "Python worker failed to connect back"
"""Spark's words when the Python process of a query needed more than the ten seconds that it is given to start."""
_STARTS: Final = 5
"""How often a query is started whose Python process is late, as it may be on a busy machine."""


class SparkStepQuery:
    """A running query; its batches are counted as they end.

    It is started again from its checkpoint when Spark gave its Python process too little time to start: it had read
    nothing by then, and no property of Spark prolongs that time.
    """

    def __init__(self, step: Step, start: Callable[[], StreamingQuery], checkpoint: Checkpoint) -> None:
        self.step = step
        self._start = start
        self._query = start()
        self._starts = 1
        self._checkpoint = checkpoint
        self._progress = NOTHING

    def progress(self) -> QueryProgress:
        """What it has done so far."""
        for each in self._query.recentProgress:
            self._progress = advanced(self._progress, each)
        return self._progress

    def ended(self) -> bool:
        """Whether it came to its end by itself."""
        try:
            if self._query.isActive:
                return False
            failure: Exception | None = self._query.exception()
        except Exception as why:  # noqa: BLE001 - Spark itself may be gone
            failure = why
        if failure is not None and _LATE in str(failure) and self._starts < _STARTS:
            logger.warning("step %s: Spark's Python process did not start within 10 s; started again", self.step.name)
            self._starts += 1
            self._query = self._start()
            return False
        if failure is not None:
            raise step_failure(f"step {self.step.name}", failure) from failure
        return True

    def drain(self, timeout: float) -> bool:
        """Read what is committed now, then stop."""
        runtime = ThreadRuntime()
        done = runtime.event()

        def process() -> None:
            with suppress(Exception):  # `ended` tells of a failure
                self._query.processAllAvailable()
            done.set()

        runtime.spawn("eosfw-drain", process)
        try:
            drained = done.wait(timeout)
            self.ended()
        finally:
            self.stop()
        return drained

    def stop(self) -> None:
        """Stop at once."""
        with suppress(Exception):  # Spark itself may be gone
            self._query.stop()
        self._checkpoint.close()


def start(step: Step, result: DataFrame, writer: StepWriter, checkpoint: Checkpoint, *, follow: bool) -> SparkStepQuery:
    """Start the query of a step's result."""
    try:
        _require_stream(result)
        checkpoint.claim(step)
        stream = result.writeStream.option("checkpointLocation", str(checkpoint.folder)).queryName(step.name)
        if follow:
            interval = step.trigger if step.trigger not in (None, AVAILABLE_NOW) else _EAGER
            stream = stream.trigger(processingTime=interval)
        else:
            stream = stream.trigger(availableNow=True)
        _require_output(step, writer.folder, checkpoint)
        return SparkStepQuery(step, lambda: writer.start(stream, step, new=checkpoint.new), checkpoint)
    except BaseException:
        checkpoint.close()
        raise


def _require_output(step: Step, folder: str, checkpoint: Checkpoint) -> None:
    """Refuse to go on in an output that is gone: it would begin in the middle."""
    log = _LOGS.get(step.output_format)
    place = resolved(step.output, folder)
    if log is not None and checkpoint.has_rows and not (place / log).exists():
        raise StepFailedError(
            f"output {place} is gone, though checkpoint {checkpoint.folder} has rows as written there: delete that,"
            " too, to write all rows again, or bring the output back"
        )


def _require_stream(result: DataFrame) -> None:
    if not result.isStreaming:
        raise StepFailedError(
            "its function returned a DataFrame that is no stream, though the step has a trigger: derive the result from"
            " the tables that it is given"
        )
