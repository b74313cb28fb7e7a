"""Parts that are broken on purpose; each must be found out."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

from tests.pytest_eos.counter import CounterTask, connector

from eosfw.builtin.isolation import ReadUncommitted
from eosfw.errors import AbortableError, FatalError
from eosfw.records import ProducerRecord, SourceRecord


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
    """Delegates every call."""

    def __init__(self, real):
        self.real = real

    def __getattr__(self, name):
        return getattr(self.real, name)


class OwnCommits(Through):
    """A backend whose producers commit when they like: behind every record, before the offsets."""

    def producer(self, transactional_id, **how):
        return Eager(self.real.producer(transactional_id, **how))


class Eager(Through):
    def send(self, record, on_delivery=None):
        self.real.send(record, on_delivery)
        if not record.topic.endswith("-offsets") and self.transactional_id and "-counter-" in self.transactional_id:
            self.real.commit_transaction(10.0)
            self.real.begin_transaction()

    def send_batch(self, batch, on_delivery=None):
        for at, record in enumerate(batch.records()):
            self.send(record, None if on_delivery is None else partial(on_delivery, at))


class Deaf(Through):
    """A backend whose producers take a fencing for a success."""

    def producer(self, transactional_id, **how):
        return Unimpressed(self.real.producer(transactional_id, **how))


class Unimpressed(Through):
    """Reports success for every call after it was fenced."""

    fenced = False

    def __getattr__(self, name):
        return self._swallowing(getattr(self.real, name)) if name in _CALLS else getattr(self.real, name)

    def _swallowing(self, call):
        def swallow(*given, **named):
            if self.fenced:
                return None
            try:
                return call(*given, **named)
            except (FatalError, AbortableError):
                self.fenced = True
                return None

        return swallow


_CALLS = ("begin_transaction", "send", "send_batch", "flush", "commit_transaction", "abort_transaction")


@connector(name="besides")
class Besides(CounterTask):
    """Sends its records itself, with a producer of its own, and returns none."""

    def start(self, config, context):
        super().start(config, context)
        self.producer = OWN_PRODUCER[0]()

    def poll(self):
        found = super().poll()
        for record in found:
            self.producer.send(ProducerRecord(record.topic, record.value))
        self.producer.flush(10.0)
        return [replace(record, topic=f"{record.topic}-seen") for record in found]


OWN_PRODUCER = []
"""How a task that sends by itself comes by a producer."""


@connector(name="ahead")
class Ahead(CounterTask):
    """States an offset that lies behind a record it has not given yet."""

    def offset_behind(self, number: int) -> int:
        return number + 2


@connector(name="random")
class Random(CounterTask):
    """Reads a source that is not the same when it is read again."""

    def record(self, stream: str, number: int) -> SourceRecord:
        found = super().record(stream, number)
        return SourceRecord(
            found.topic, os.urandom(8), source_partition=found.source_partition, source_offset=found.source_offset
        )
