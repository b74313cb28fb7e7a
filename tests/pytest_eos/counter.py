"""A connector that counts, small enough to be broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import ExactlyOnceSupport, SourceConnector, SourceTask, SourceTaskContext
from eosfw.records import SourceRecord


class CounterTask(SourceTask):
    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.topic, self.until, self.batch = config["topic"], int(config["until"]), int(config["batch"])
        self.width = int(config["width"])
        streams = config["streams"].split(",")
        self.next = {stream: (context.offset({"stream": stream}) or {"next": 0})["next"] for stream in streams}

    def poll(self) -> list[SourceRecord]:
        records = []
        for stream, start in self.next.items():
            stop = min(start + self.batch, self.until)
            records += [self.record(stream, number) for number in range(start, stop)]
            self.next[stream] = stop
        return records

    def record(self, stream: str, number: int) -> SourceRecord:
        value = (b"%s:%d" % (stream.encode(), number)).ljust(self.width, b".")
        return SourceRecord(
            self.topic, value, source_partition={"stream": stream}, source_offset={"next": self.offset_behind(number)}
        )

    def offset_behind(self, number: int) -> int:
        return number + 1

    def at_end(self) -> bool:
        return all(number >= self.until for number in self.next.values())


class CounterConnector(SourceConnector):
    name = "counter"
    task: type[SourceTask] = CounterTask
    config = ConfigDef(
        Int("streams", 2, "independent counters", at_least=1),
        Int("until", 24, "where each ends"),
        Int("batch", 4, "numbers of a stream in one poll"),
        Int("width", 0, "bytes that a value has at least"),
        String("topic", doc="where to"),
    )

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        streams = [f"s{number}" for number in range(config["streams"])]
        common = {name: str(config[name]) for name in ("until", "batch", "width", "topic")}
        shares = [streams[number::max_tasks] for number in range(min(max_tasks, len(streams)))]
        return [{"streams": ",".join(share), **common} for share in shares]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


def connector(kind: type[SourceConnector] = CounterConnector, **attributes: str) -> Callable[[type[SourceTask]], Any]:
    """Put a connector in the place of a class of tasks: it has their name, and makes them."""

    def made(task: type[SourceTask]) -> Any:
        own = {"task": task, "__module__": task.__module__, "__doc__": task.__doc__}
        return type(task.__name__, (kind,), {**own, **attributes})

    return made
