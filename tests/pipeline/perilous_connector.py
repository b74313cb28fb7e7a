"""A connector that counts, and takes its process with it when its files say so; for processes that import it."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from eosfw import hookimpl
from eosfw.config import Config, ConfigDef, Int, Password, String
from eosfw.connectors import ExactlyOnceSupport, PollResult, SourceConnector, SourceTask, SourceTaskContext
from eosfw.records import SourceBatch


class PerilousTask(SourceTask):
    """Counts to `until`. After `at` it ends as `how` says, once or always, in the middle of a transaction."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        self.settings, self.name = config, config["task"]
        Path(config["folder"], f"pid-{self.name}-{os.getpid()}").touch()
        print("a connector that prints", flush=True)  # noqa: T201 (it is the point)
        self.next = (context.offset({"task": self.name}) or {"next": 0})["next"]

    def poll(self) -> PollResult:
        if self.at_end():
            return None
        start, self.next = self.next, self.next + 1
        if start == int(self.settings["at"]) and self.name == "0":
            self._end()
        return SourceBatch(
            self.settings["topic"], [b"%s:%d" % (self.name.encode(), start)], {"task": self.name}, {"next": self.next}
        )

    def _end(self) -> None:
        if self.settings["how"] == "block":
            Path(self.settings["folder"], "blocked").touch()
            time.sleep(3600)
        once = Path(self.settings["folder"], "ended")
        if self.settings["times"] == "once" and once.exists():
            return
        once.touch()
        if self.settings["how"] == "segfault":
            ctypes.string_at(0)
        os._exit(7)

    def at_end(self) -> bool | None:
        return self.next == int(self.settings["until"])


class PerilousConnector(SourceConnector):
    name: ClassVar[str] = "perilous"
    task: ClassVar[type[SourceTask]] = PerilousTask
    config: ClassVar[ConfigDef] = ConfigDef(
        String("topic", doc="where to"),
        String("folder", doc="where its files are"),
        Int("until", 100, "where each task ends"),
        Int("at", -1, "where it ends its process"),
        String("how", "exit", "by what"),
        String("times", "once", "or always"),
        Password("password", "", "a secret"),
    )

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        common = {name: str(config[name]) for name in ("topic", "folder", "until", "at", "how", "times")}
        return [{**common, "task": str(task)} for task in range(max_tasks)]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


@hookimpl
def eosfw_connectors() -> Sequence[type[SourceConnector]]:
    return [PerilousConnector]
