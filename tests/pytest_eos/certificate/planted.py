"""Connectors as authors make them: three with one bug each, and one that cannot be simulated."""

from __future__ import annotations

import threading
from dataclasses import replace

from tests.pytest_eos.counter import CounterTask, connector

from eosfw.config import Config
from eosfw.connectors import SourceTaskContext
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
