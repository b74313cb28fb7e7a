"""A connector whose tasks count, each stream at a steady rate; installed in the workers' processes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from eosfw import hookimpl
from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import ExactlyOnceSupport, PollResult, SourceConnector, SourceTask, SourceTaskContext
from eosfw.records import SourceBatch

INTERVAL = 0.05


class PacedTask(SourceTask):
    config: ClassVar[ConfigDef | None] = ConfigDef(String("streams"), Int("rate", 100), String("topic"))

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.topic, self.batch = config["topic"], max(1, round(config["rate"] * INTERVAL))
        streams = config["streams"].split(",")
        self.next = {name: (context.offset({"stream": name}) or {"next": 0})["next"] for name in streams}

    def poll(self) -> PollResult:
        time.sleep(INTERVAL)
        return [self._batch(name) for name in self.next]

    def _batch(self, name: str) -> SourceBatch:
        start = self.next[name]
        self.next[name] = stop = start + self.batch
        values = [b"%s:%d" % (name.encode(), number) for number in range(start, stop)]
        return SourceBatch(self.topic, values, {"stream": name}, {"next": stop})


class PacedConnector(SourceConnector):
    """Sixty streams would do as well: each belongs to one task, whatever their number."""

    name: ClassVar[str] = "paced"
    task: ClassVar[type[SourceTask]] = PacedTask
    config: ClassVar[ConfigDef] = ConfigDef(Int("streams", 6), Int("rate", 100), String("topic"))

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        names = [f"s{number}" for number in range(config["streams"])]
        shares = [names[task::max_tasks] for task in range(min(max_tasks, len(names)))]
        rate = str(config["rate"])
        return [{"streams": ",".join(share), "rate": rate, "topic": config["topic"]} for share in shares]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


@hookimpl
def eosfw_connectors() -> Sequence[type[SourceConnector]]:
    return [PacedConnector]
