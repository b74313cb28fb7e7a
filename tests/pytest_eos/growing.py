"""Connectors that read a file while it grows, sound, then broken one way each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.pytest_eos.counter import connector

from eosfw.config import Config, ConfigDef, String
from eosfw.connectors import ExactlyOnceSupport, SourceConnector, SourceTask, SourceTaskContext
from eosfw.records import SourceRecord

BEGIN = "1 a\n2 b\n3 pa"
MORE = "rt\n2 late\n4 d\n"


class TailTask(SourceTask):
    """Gives each line with its end, and keeps the position behind it."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.topic, self.path = config["topic"], Path(config["path"])
        self.position = self.place(context.offset({"log": "log"}) or {})

    def place(self, offset: Mapping[str, Any]) -> int:
        return int(offset.get("position", 0))

    def poll(self) -> list[SourceRecord]:
        return list(self.lines(self.path.read_bytes()))

    def lines(self, data: bytes) -> Iterator[SourceRecord]:
        while end := self.end_of_line(data):
            line, self.position = data[self.position : end], end
            yield self.record(line)

    def end_of_line(self, data: bytes) -> int:
        return data.find(b"\n", self.position) + 1

    def record(self, line: bytes) -> SourceRecord:
        return SourceRecord(
            self.topic,
            line.strip(),
            source_partition={"log": "log"},
            source_offset={"position": self.position},
        )

    def at_end(self) -> bool:
        return True


class Tail(SourceConnector):
    name = "tail"
    task: type[SourceTask] = TailTask
    config = ConfigDef(String("path", doc="what is read"), String("topic", doc="where to"))

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{"path": config["path"], "topic": config["topic"]}]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


@connector(Tail)
class HalfLines(TailTask):
    """Takes what there is of a line for the whole line."""

    def end_of_line(self, data: bytes) -> int:
        return super().end_of_line(data) or (len(data) if self.position < len(data) else 0)


@connector(Tail)
class PastTheEnd(TailTask):
    """Goes on at the end of the file, though a part of a line lies before that."""

    def lines(self, data: bytes) -> Iterator[SourceRecord]:
        yield from super().lines(data)
        self.position = len(data)


@connector(Tail)
class LaterTimes(TailTask):
    """Reads what has a later time than what it has read, and so nothing that comes late."""

    time = 0

    def poll(self) -> list[SourceRecord]:
        records = [one for one in super().poll() if self.time_of(one) > self.time]
        self.time = max([self.time, *map(self.time_of, records)])
        return records

    def time_of(self, record: SourceRecord) -> int:
        return int((record.value or b"").split()[0])


@connector(Tail)
class StartsBehind(TailTask):
    """Takes the place where it resumes for the end of the last line, and leaves a line out to be sure."""

    def place(self, offset: Mapping[str, Any]) -> int:
        position = super().place(offset)
        return (position and self.path.read_bytes().find(b"\n", position) + 1) or position
