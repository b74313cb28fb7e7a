"""Keep batches that are sent before the cluster was met, which only a producer without transactional id may do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from eosfw.concurrency import Event, Runtime
from eosfw.errors import EosfwError
from eosfw.protocols import BatchDeliveryCallback
from eosfw.records import ProducerBatch
from eosfw_kafka_python.partitioner import Partitioner


class SentBatch(NamedTuple):
    """A batch that a caller sent, with the callback for its records."""

    batch: ProducerBatch
    on_delivery: BatchDeliveryCallback | None


class ProducerCalls(NamedTuple):
    """What the buffer calls of its producer: connect to the cluster, append a batch, report a batch as failed."""

    connect: Callable[[], Partitioner]
    append: Callable[[SentBatch, Partitioner], None]
    fail: Callable[[SentBatch, EosfwError], None]


class MetadataBuffer:
    """One thread that connects to the cluster, then appends the batches that were kept, in their order.

    The thread refers to its producer only while it works: a producer that was dropped must end at once.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.partitioner: Partitioner | None = None
        """Takes batches directly, once every batch that was kept is appended."""
        self._runtime = runtime
        self._lock = runtime.lock()
        self._kept: list[SentBatch] = []
        self._drained: Event | None = None
        self._failure: EosfwError | None = None

    def keep(self, sent: SentBatch, calls: ProducerCalls) -> bool:
        """Keep a batch and have the cluster connected to; False if the partitioner can take it by now."""
        with self._lock:
            if self.partitioner is not None:
                return False
            self._kept.append(sent)
            if self._drained is None:
                self._drained = self._runtime.event()
                self._runtime.spawn("eosfw-metadata", partial(self._connect, calls))
            return True

    def wait_until_empty(self, timeout: float) -> bool:
        """Wait until no batch is kept any more; tell whether that is so."""
        drained = self._drained
        return drained is None or drained.wait(timeout)

    def raise_failure(self) -> None:
        """Raise, once, what kept a batch from being appended."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _connect(self, calls: ProducerCalls) -> None:
        found: Partitioner | EosfwError
        try:
            found = calls.connect()
        except EosfwError as why:
            found = self._failure = why
        while True:
            with self._lock:
                kept, self._kept = self._kept, []
                if not kept:
                    # Under the lock, so that no batch is kept behind the last look.
                    self.partitioner = found if isinstance(found, Partitioner) else None
                    drained, self._drained = self._drained, None
                    break
            for sent in kept:
                self._append_late(sent, found, calls)
        if drained is not None:
            drained.set()

    def _append_late(self, sent: SentBatch, found: Partitioner | EosfwError, calls: ProducerCalls) -> None:
        try:
            if isinstance(found, EosfwError):
                raise found
            calls.append(sent, found)
        except EosfwError as why:
            self._failure = self._failure or why
            calls.fail(sent, why)
