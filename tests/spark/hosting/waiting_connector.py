"""A connector whose source takes its time: each poll waits, then counts on; installed where its tasks run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from eosfw import hookimpl
from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import ExactlyOnceSupport, PollResult, SourceConnector, SourceTask, SourceTaskContext
from eosfw.records import SourceBatch


class WaitingTask(SourceTask):
    config: ClassVar[ConfigDef | None] = ConfigDef(
        String("streams"), Int("until"), Int("batch"), Int("wait.ms"), String("topic")
    )

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.settings = config
        names = config["streams"].split(",")
        self.next = {name: (context.offset({"stream": name}) or {"next": 0})["next"] for name in names}

    def poll(self) -> PollResult:
        name = min(self.next, key=self.next.__getitem__)
        start = self.next[name]
        stop = min(start + self.settings["batch"], self.settings["until"])
        if start == stop:
            return None
        time.sleep(self.settings["wait.ms"] / 1000)
        self.next[name] = stop
        values = [b"%s:%d" % (name.encode(), number) for number in range(start, stop)]
        return SourceBatch(self.settings["topic"], values, {"stream": name}, {"next": stop})

    def at_end(self) -> bool | None:
        return all(one == self.settings["until"] for one in self.next.values())


class WaitingConnector(SourceConnector):
    name: ClassVar[str] = "waiting"
    task: ClassVar[type[SourceTask]] = WaitingTask
    config: ClassVar[ConfigDef] = ConfigDef(
        Int("streams", 4, "how many counters"),
        Int("until", 100, "where each ends"),
        Int("batch", 10, "records of a poll"),
        Int("wait.ms", 20, "how long a poll waits"),
        String("topic", doc="where to"),
    )

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        names = [f"s{number}" for number in range(config["streams"])]
        shares = [names[task::max_tasks] for task in range(min(max_tasks, len(names)))]
        common = {name: str(config[name]) for name in ("until", "batch", "wait.ms", "topic")}
        return [{"streams": ",".join(share), **common} for share in shares]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


@hookimpl
def eosfw_connectors() -> Sequence[type[SourceConnector]]:
    return [WaitingConnector]
