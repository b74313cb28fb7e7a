"""A connector that counts, so that every loss and every repeat shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    PollResult,
    SourceConnector,
    SourceTask,
    SourceTaskContext,
)
from eosfw.records import SourceBatch, SourceRecord


class CountingTask(SourceTask):
    config: ClassVar[ConfigDef | None] = ConfigDef(
        String("streams"), Int("until", 0), Int("batch", 1), String("topic"), String("shape", "batch")
    )

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.settings = config
        self.context = context
        self.pauses = False
        self.next: dict[str, int] = {}
        for stream in config["streams"].split(","):
            self.next[stream] = (context.offset({"stream": stream}) or {"next": 0})["next"]

    def poll(self) -> PollResult:
        left = [stream for stream, number in self.next.items() if not self.at_end_of(number)]
        # In virtual time one without end would write thousands of transactions within each second.
        self.pauses = not self.settings["until"] and not self.pauses
        if not left or self.pauses:
            return None
        batches = [self._batch(stream) for stream in left]
        if self.settings["shape"] == "batch":
            return batches
        return [
            SourceRecord(batch.topic, value, None, batch.source_partition, offset)
            for batch in batches
            for value, offset in zip(batch.values, batch.source_offsets or (), strict=True)
        ]

    def _batch(self, stream: str) -> SourceBatch:
        start = self.next[stream]
        stop = start + self.settings["batch"]
        if self.settings["until"]:
            stop = min(stop, self.settings["until"])
        self.next[stream] = stop
        numbers = range(start, stop)
        return SourceBatch(
            self.settings["topic"],
            [b"%s:%d" % (stream.encode(), number) for number in numbers],
            {"stream": stream},
            {"next": stop},
            source_offsets=[{"next": number + 1} for number in numbers],
        )

    def at_end_of(self, number: int) -> bool:
        return bool(self.settings["until"]) and number >= self.settings["until"]

    def at_end(self) -> bool | None:
        return all(self.at_end_of(number) for number in self.next.values())


class CountingConnector(SourceConnector):
    name = "counting"
    task: ClassVar[type[SourceTask]] = CountingTask
    config = ConfigDef(
        Int("streams", 1, "how many counters"),
        Int("until", 0, "where each ends; 0: never"),
        Int("batch", 1, "records of a stream in one poll"),
        String("topic", doc="where to"),
        String("shape", "batch", "batch or records"),
    )

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        streams = [f"s{number}" for number in range(config["streams"])]
        shares = [streams[number::max_tasks] for number in range(max_tasks)]
        common = {name: str(config[name]) for name in ("until", "batch", "topic", "shape")}
        return [{"streams": ",".join(share), **common} for share in shares if share]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries | None:
        return ConnectorTransactionBoundaries.SUPPORTED


def expected(streams: int, until: int) -> list[bytes]:
    """Every record that must be there, once."""
    return sorted(b"s%d:%d" % (stream, number) for stream in range(streams) for number in range(until))
