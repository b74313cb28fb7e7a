"""Drive a stream reader as Spark does, without Spark: offsets go through a log as JSON, batches may be run again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper

from eosfw_spark.source.options import parse_stream
from eosfw_spark.source.stream_reader import EosfwStreamReader

from ..histories import Histories

Row = tuple[str, int, int, bytes | None]


def options(history: Histories, topic: str, **more: object) -> dict[str, str]:
    """The options of a query that reads a topic from its beginning, and `more`."""
    given = {"kafka.bootstrap.servers": history.servers, "subscribe": topic, "startingOffsets": "earliest", **more}
    return {name: str(value) for name, value in given.items()}


def rows_of(arrows: Iterable[pa.RecordBatch]) -> list[Row]:
    """Topic, partition, offset and value of each row, in their order."""
    found: list[Row] = []
    for arrow in arrows:
        columns = (arrow.column(name).to_pylist() for name in ("topic", "partition", "offset", "value"))
        found += zip(*columns, strict=True)
    return sorted(found)


class StreamRun:
    """One run of a query (Spark's `MicroBatchExecution`); `log` is the checkpoint, which outlives it."""

    def __init__(self, options: Mapping[str, str], log: list[str], *, available_now: bool = False) -> None:
        self.reader = EosfwStreamReader(parse_stream(options))
        self.log = log
        if available_now:
            self.reader.prepareForTriggerAvailableNow()

    def plan(self) -> bool:
        """Write the end of the next batch to the log, if there is anything new."""
        start = json.loads(self.log[-1]) if self.log else self._initial()
        return self._append(self.reader.latestOffset(start, self.reader.getDefaultReadLimit()))

    def _append(self, end: dict[str, Any]) -> bool:
        text = json.dumps(end)
        if self.log and text == self.log[-1]:
            return False
        self.log.append(text)
        return True

    def _initial(self) -> Any:
        return json.loads(json.dumps(self.reader.initialOffset()))

    def rows(self, batch: int) -> list[Row]:
        """The rows of a batch: what is prefetched with its plan, or what its tasks read."""
        prefetched, partitions = self.planned(batch)
        arrows = chain.from_iterable(map(self.reader.read, partitions)) if prefetched is None else prefetched
        return rows_of(arrows)

    def planned(self, batch: int) -> tuple[list[pa.RecordBatch] | None, Sequence[InputPartition]]:
        """What Spark takes from the reader with the plan of a batch; None if it is left to the tasks."""
        start = json.loads(self.log[batch - 1]) if batch else self._initial()
        end = json.loads(self.log[batch])
        partitions = self.reader.partitions(start, end)
        if not isinstance(self.reader, _SimpleStreamReaderWrapper):
            return None, partitions
        # Spark's JVM demands one partition then.
        assert len(partitions) == 1
        return list(self.reader.getCache(start, end)), partitions

    def values(self, batch: int) -> list[bytes | None]:
        """The values of a batch in the order of partitions and offsets."""
        return [row[-1] for row in self.rows(batch)]

    def finish(self) -> list[list[bytes | None]]:
        """Plan and read batches until nothing is new, then stop; the values of each batch that has rows."""
        found = []
        while self.plan():
            found.append(self.values(len(self.log) - 1))
        self.reader.stop()
        return [values for values in found if values]


class StreamRunBefore42(StreamRun):
    """The same by Spark 4.0 and 4.1, which pass `latestOffset` nothing, and tell a restarted reader its last offset."""

    def __init__(self, options: Mapping[str, str], log: list[str]) -> None:
        super().__init__(options, log)
        if log:
            self.reader.partitions(json.loads(log[-1]), json.loads(log[-1]))

    def plan(self) -> bool:
        return self._append(self.reader.latestOffset())
