"""Connectors that do not go on where transactions ended, or whose records are not the same again, one way each."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.config import Config
from eosfw.connectors import SourceTaskContext
from eosfw.errors import RetriableError
from eosfw.records import SourceBatch, SourceRecord

_CLOCK = itertools.count(1)


@connector()
class StartsOver(CounterTask):
    """Takes an offset at the end of its source for one of a source that was truncated."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = {stream: 0 if number >= self.until else number for stream, number in self.next.items()}


@connector()
class EndsEarly(CounterTask):
    """Takes a poll without records for its end, though some polls give none in between."""

    polls, found = 0, True

    def poll(self) -> list[SourceRecord]:
        self.polls += 1
        records = [] if self.polls % 3 == 0 else super().poll()
        self.found = bool(records)
        return records

    def at_end(self) -> bool:
        return not self.found


@connector()
class SaysMore(CounterTask):
    """Waits for the end of a thread that has died: it says that there is more to come, and nothing comes."""

    def at_end(self) -> bool:
        return False


@connector()
class LosesTies(CounterTask):
    """Goes on behind the time of a row, which two rows have, in one place of many."""

    TIE = 8

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = {stream: number + 1 if number == self.TIE else number for stream, number in self.next.items()}


@connector()
class Greatest(CounterTask):
    """Starts all its streams at the greatest offset of them, and reads one after the other."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = dict.fromkeys(self.next, max(self.next.values()))

    def poll(self) -> list[SourceRecord]:
        records = super().poll()
        first = next((record.source_partition for record in records), None)
        for record in records:
            if record.source_partition != first:
                stream = str(record.source_partition["stream"])
                self.next[stream] = min(self.next[stream], int(str(record.source_offset["next"])) - 1)
        return [record for record in records if record.source_partition == first]


@connector()
class OwnPartitions(CounterTask):
    """Puts the number of the task into its source partitions."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.task = context.task_id.task
        super().start(config, _Numbered(context))

    def record(self, stream: str, number: int) -> SourceRecord:
        return replace(super().record(stream, number), source_partition={"stream": stream, "task": self.task})


class _Numbered:
    def __init__(self, context: SourceTaskContext) -> None:
        self._context = context

    def offset(self, partition: Mapping[str, Any]) -> Any:
        return self._context.offset({**partition, "task": self._context.task_id.task})


class Remainder(CounterConnector):
    """Gives each task equally many streams, and what is left over to none."""

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        (whole,) = super().task_configs(config, 1)
        streams = whole["streams"].split(",")
        each = max(1, len(streams) // max_tasks)
        shares = [streams[first : first + each] for first in range(0, each * max_tasks, each)]
        return [{**whole, "streams": ",".join(share)} for share in shares if share]


class BatchTask(CounterTask):
    """A batch for each stream, with what each batch must have alone."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.record_offsets = context.record_offsets

    def poll(self) -> Any:
        polled = itertools.groupby(super().poll(), lambda record: record.source_partition)
        return [self.columns([*records]) for _, records in polled]

    def columns(self, records: list[SourceRecord]) -> SourceBatch:
        offsets = [record.source_offset for record in records]
        return SourceBatch(
            records[0].topic,
            [record.value for record in records],
            records[0].source_partition,
            self.behind(records),
            source_offsets=offsets if self.record_offsets else None,
        )

    def behind(self, records: list[SourceRecord]) -> Mapping[str, Any]:
        return records[-1].source_offset


@connector()
class Batches(BatchTask):
    """Sound."""


@connector()
class BatchAhead(BatchTask):
    """The offset of a batch is one ahead of that of its last record."""

    def behind(self, records: list[SourceRecord]) -> Mapping[str, Any]:
        return {"next": int(str(records[-1].source_offset["next"])) + 1}


@connector()
class BatchAlone(BatchTask):
    """The offset of a batch is that of its first record, where nobody asks for the others."""

    def behind(self, records: list[SourceRecord]) -> Mapping[str, Any]:
        return records[-1 if self.record_offsets else 0].source_offset


@connector()
class AsksForText(CounterTask):
    """States a number in its source partitions, and asks for the offset of a text."""

    def record(self, stream: str, number: int) -> SourceRecord:
        return replace(super().record(stream, number), source_partition={"shard": int(stream[1:])})

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        committed = {stream: context.offset({"shard": stream[1:]}) for stream in self.next}
        self.next = {stream: at["next"] if at else 0 for stream, at in committed.items()}


class Position(int):
    """A whole number with a method."""

    def number(self) -> int:
        return int(self)


@connector()
class OwnType(CounterTask):
    """Takes for granted that an offset comes back with the type that it was stated with."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = {stream: number and number.number() for stream, number in self.next.items()}

    def offset_behind(self, number: int) -> int:
        return Position(number + 1)


@connector()
class Stamped(CounterTask):
    """Gives its records the time at which it reads them."""

    def record(self, stream: str, number: int) -> SourceRecord:
        return replace(super().record(stream, number), timestamp=next(_CLOCK))


@connector()
class OneMapping(CounterTask):
    """Has one mapping for the offsets of all its records."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.offsets: dict[str, dict[str, int]] = {stream: {} for stream in self.next}

    def record(self, stream: str, number: int) -> SourceRecord:
        self.offsets[stream]["next"] = number + 1
        return replace(super().record(stream, number), source_offset=self.offsets[stream])


@connector()
class OnePartition(CounterTask):
    """Has one mapping for the source partitions of all its records."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.partition: dict[str, str] = {}

    def record(self, stream: str, number: int) -> SourceRecord:
        self.partition["stream"] = stream
        return replace(super().record(stream, number), source_partition=self.partition)


@connector()
class Nowhere(CounterTask):
    """States neither source partitions nor source offsets."""

    def record(self, stream: str, number: int) -> SourceRecord:
        return replace(super().record(stream, number), source_partition={}, source_offset={})


@connector()
class Interrupted(CounterTask):
    """Sound: every other poll fails, the last ones as well."""

    polls = 0

    def poll(self) -> list[SourceRecord]:
        self.polls += 1
        if self.polls % 2:
            raise RetriableError("503 Service Unavailable")
        return super().poll()


@connector()
class AnyStreamFirst(CounterTask):
    """Sound: its streams come in the order of a set, each of them in its own."""

    def poll(self) -> list[SourceRecord]:
        records = super().poll()
        streams = {str(record.source_partition["stream"]) for record in records}
        return [record for stream in streams for record in records if record.source_partition["stream"] == stream]


@connector()
class KeepsFiles(CounterTask):
    """Keeps its place in files beside the committed offsets."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = {stream: int(Path(stream).read_text("ascii")) for stream in self.next if Path(stream).exists()} or (
            self.next
        )

    def poll(self) -> list[SourceRecord]:
        records = super().poll()
        for stream, number in self.next.items():
            Path(stream).write_text(str(number), "ascii")
        return records


class OneTaskOnly(CounterConnector):
    """Fails where it may make more tasks than it wants to."""

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if max_tasks > 1:
            raise ValueError("tasks.max must be 1")
        return super().task_configs(config, max_tasks)
