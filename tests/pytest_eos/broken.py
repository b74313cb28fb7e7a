"""Parts that are broken on purpose; each must be found out."""

from __future__ import annotations

import os

from tests.pytest_eos.counter import CounterConnector, CounterTask

from eosfw.builtin.isolation import ReadUncommitted
from eosfw.records import SourceRecord


class IdleFencer:
    """Says that it fenced, and did not."""

    name = "idle"

    @classmethod
    def connect(cls, backend, properties, runtime):
        return cls()

    def fence(self, transactional_ids, timeout):
        return dict.fromkeys(transactional_ids)

    def close(self):
        pass


class ShowsAll(ReadUncommitted):
    """Calls itself read_committed, and shows every record."""

    name = "read_committed"


class Through:
    """Hands everything on."""

    def __init__(self, real):
        self.real = real

    def __getattr__(self, name):
        return getattr(self.real, name)


class OffsetsOutside(Through):
    """A backend whose producers write source offsets at once, outside their transactions."""

    def producer(self, transactional_id, **how):
        return Hasty(self.real.producer(transactional_id, **how), self.real)


class Hasty(Through):
    def __init__(self, real, backend):
        super().__init__(real)
        self._backend = backend

    def send(self, record, on_delivery=None):
        if not record.topic.endswith("-offsets"):
            self.real.send(record, on_delivery)
            return
        plain = self._backend.producer(None)
        plain.send(record)
        plain.flush(10.0)
        plain.close()


class AheadTask(CounterTask):
    """States an offset that lies behind a record it has not given yet."""

    def offset_behind(self, number: int) -> int:
        return number + 2


class Ahead(CounterConnector):
    name, task = "ahead", AheadTask


class RandomTask(CounterTask):
    """Reads a source that is not the same when it is read again."""

    def record(self, stream: str, number: int) -> SourceRecord:
        found = super().record(stream, number)
        return SourceRecord(
            found.topic, os.urandom(8), source_partition=found.source_partition, source_offset=found.source_offset
        )


class Random(CounterConnector):
    name, task = "random", RandomTask
