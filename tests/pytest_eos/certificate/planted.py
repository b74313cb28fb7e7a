"""Connectors as authors make them: three with one bug each, and two that cannot be simulated."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.config import Config
from eosfw.connectors import SourceTaskContext
from eosfw.errors import Problem
from eosfw.records import SourceRecord


@connector()
class OffsetAhead(CounterTask):
    """Its offset is one ahead of the record that it stands beside."""

    def offset_behind(self, number: int) -> int:
        return number + 2


@connector()
class SharedOffset(CounterTask):
    """Its tasks share one source partition, so each overwrites the offset of the other."""

    def record(self, stream: str, number: int) -> SourceRecord:
        return replace(super().record(stream, number), source_partition={"source": "all streams"})


_POSITIONS: dict[str, int] = {}


@connector()
class KeptState(CounterTask):
    """It keeps its place in the process beside the committed offsets, and goes on from there after a restart."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = {stream: max(number, _POSITIONS.get(stream, 0)) for stream, number in self.next.items()}

    def poll(self) -> list[SourceRecord]:
        records = super().poll()
        _POSITIONS.update(self.next)
        return records


@connector()
class Threaded(CounterTask):
    """It has a thread of its own, which does no harm."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        helper = threading.Thread(target=print, daemon=True)
        helper.start()
        helper.join()


class Checking(CounterConnector):
    """It looks at its source in a thread of its own before it takes its properties."""

    def problems(self, config: Config) -> Sequence[Problem]:
        looker = threading.Thread(target=print, daemon=True)
        looker.start()
        looker.join()
        return super().problems(config)
