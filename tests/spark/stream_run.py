"""Drive a stream reader as Spark does, without Spark: offsets go through a log as JSON, batches may be run again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eosfw_spark.source.options import parse_stream
from eosfw_spark.source.stream_reader import EosfwStreamReader

Row = tuple[str, int, int, bytes | None]


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
        """What the tasks of a batch read."""
        start = json.loads(self.log[batch - 1]) if batch else self._initial()
        found: list[Row] = []
        for partition in self.reader.partitions(start, json.loads(self.log[batch])):
            for arrow in self.reader.read(partition):
                columns = (arrow.column(name).to_pylist() for name in ("topic", "partition", "offset", "value"))
                found += zip(*columns, strict=True)
        return sorted(found)

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
