"""A connector whose source gets streams while it runs, and which watches that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eosfw.config import Config, ConfigDef, Password
from eosfw.connectors import SourceConnector, SourceConnectorContext

from .counting import CountingConnector


@dataclass
class ChangingSource:
    """What a test changes, and what it was asked for."""

    streams: int = 1
    calls: list[str] = field(default_factory=list)
    context: Any = None
    fails_with: list[BaseException] = field(default_factory=list)
    """Raised one by one, by the calls that come next."""
    stopping: Any = None
    """An event that `stop` waits for."""

    def called(self, what: str) -> None:
        """Note a call."""
        self.calls.append(what)
        if self.fails_with:
            raise self.fails_with.pop(0)


def watching(source: ChangingSource, pause: float = 0.01) -> SourceConnector:
    """A connector over such a source; each of its objects has its own memory of the streams."""

    class Watching(CountingConnector):
        name = "watching"
        config = CountingConnector.config + ConfigDef(Password("password", ""))
        seen = 0

        def start(self, config: Config, context: SourceConnectorContext) -> None:
            source.called("start")
            source.context, self.context = context, context
            self.seen = source.streams

        def watch(self) -> float | None:
            source.called("watch")
            if source.streams != self.seen:
                self.seen = source.streams
                self.context.request_task_reconfiguration()
            return pause

        def stop(self) -> None:
            source.called("stop")
            if source.stopping is not None:
                source.stopping.wait()

        def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
            source.calls.append("task_configs")
            wider = Config({**config, "streams": source.streams}, config.given)
            return super().task_configs(wider, max_tasks)

    return Watching()
