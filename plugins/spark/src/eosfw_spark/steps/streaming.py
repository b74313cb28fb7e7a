"""The streaming query of a step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import StepFailedError
from eosfw.protocols import AVAILABLE_NOW, QueryProgress, Step
from eosfw_spark.root_cause import step_failure
from eosfw_spark.steps.checkpoint import Checkpoint
from eosfw_spark.steps.writers import StepWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_POLL: Final = 0.1
_NOTHING: Final = QueryProgress(-1, 0, 0.0)


class SparkStepQuery:
    """A running query; its batches are counted as they end."""

    def __init__(self, step: Step, query: StreamingQuery, checkpoint: Checkpoint) -> None:
        self.step = step
        self._query = query
        self._checkpoint = checkpoint
        self._progress = _NOTHING

    def progress(self) -> QueryProgress:
        """What it has done so far."""
        for each in self._query.recentProgress:
            self._progress = _advanced(self._progress, each)
        return self._progress

    def ended(self) -> bool:
        """Whether it came to its end by itself."""
        if self._query.isActive:
            return False
        if why := self._query.exception():
            raise step_failure(f"step {self.step.name}", why) from why
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
        drained = done.wait(timeout)
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
        if follow and step.trigger not in (None, AVAILABLE_NOW):
            stream = stream.trigger(processingTime=step.trigger)
        elif not follow:
            stream = stream.trigger(availableNow=True)
        return SparkStepQuery(step, writer.start(stream, step, new=checkpoint.new), checkpoint)
    except BaseException:
        checkpoint.close()
        raise


def _require_stream(result: DataFrame) -> None:
    if not result.isStreaming:
        raise StepFailedError(
            "its function returned a DataFrame that is no stream, though the step has a trigger: derive the result from"
            " the tables that it is given"
        )


def _advanced(before: QueryProgress, progress: Mapping[str, Any]) -> QueryProgress:
    if progress["batchId"] <= before.batch and not progress["numInputRows"]:
        return _seen(before, progress, before.rows)
    new = progress["batchId"] > before.batch
    return _seen(before, progress, before.rows + (progress["numInputRows"] if new else 0))


def _seen(before: QueryProgress, progress: Mapping[str, Any], rows: int) -> QueryProgress:
    return QueryProgress(
        max(before.batch, progress["batchId"]),
        rows,
        float(progress["processedRowsPerSecond"] or 0),
        sum(_behind(progress)),
        tuple(_held_back(progress)),
    )


def _behind(progress: Mapping[str, Any]) -> Iterator[int]:
    for source in progress["sources"]:
        end, latest = _offsets(source["endOffset"]), _offsets(source["latestOffset"])
        for partition, offset in latest.items():
            yield max(0, offset - end.get(partition, offset))


def _held_back(progress: Mapping[str, Any]) -> Iterator[str]:
    for source in progress["sources"]:
        for partition, by in _json(source["latestOffset"]).get("held back", {}).items():
            if "transactional.id" in by:
                yield (
                    f"{partition} is held back by transactional id {by['transactional.id']} since {by['since']}; to"
                    f" free it: {by['freed by']}"
                )
            else:
                yield f"{partition} is held back: {by.get('by')}"


def _offsets(text: str | None) -> dict[tuple[str, str], int]:
    return {
        (topic, partition): offset
        for topic, partitions in _json(text).items()
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
        if isinstance(offset, int)
    }


def _json(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
