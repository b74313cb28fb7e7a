"""A writer in a transaction that another process began and will end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from eosfw.errors import IllegalStateError
from eosfw.ids import TopicPartition
from eosfw.protocols import AcknowledgedWrite, AttachedProducer, TransactionHandle
from eosfw.records import ProducerBatch
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.producer.producer import FULL, ProducerSettings
from eosfw_memory.client.producer.sender import Sender
from eosfw_memory.client.transaction_manager import TransactionManager


class MemoryAttachedProducer(AttachedProducer):
    """An `AttachedProducer` that sends nothing but Produce requests.

    What it needs of its coordinator the driver has done, or the first batch does (version 2 of transactions). So after
    the end of the transaction it has no means to begin another one.
    """

    def __init__(self, handle: TransactionHandle, settings: ProducerSettings, metadata: ClusterMetadata) -> None:
        self._handle = handle
        self._settings = settings
        self._metadata = metadata
        manager = TransactionManager(metadata, handle.transactional_id, handle.transaction_version)
        self._sender = Sender(metadata, manager, settings.max_request, settings.acks)
        self._sender.attach(handle.producer, handle.partitions)
        self._records: Counter[TopicPartition] = Counter()
        self._ready = 0
        self._ended: str | None = None

    def send_batch(self, batch: ProducerBatch) -> None:
        self._require_open()
        where = TopicPartition(batch.topic, -1 if batch.partition is None else batch.partition)
        if where not in self._handle.partitions:
            raise IllegalStateError(f"{self._what}: it may not write to {where}, which is not in its handle")
        if not batch.values:
            return
        with self._failing():
            now_ms = int(self._metadata.runtime.wall() * 1000)
            self._ready += self._sender.accumulator(where).add(batch, now_ms, None)
            self._records[where] += len(batch)
            if self._ready >= FULL:
                self._deliver(self._settings.max_block)

    def flush(self, timeout: float) -> None:
        self._require_open()
        with self._failing():
            self._sender.close_batches()
            self._deliver(timeout)

    def finish(self, timeout: float) -> AcknowledgedWrite:
        self.flush(timeout)
        self._ended = "it has finished"
        return AcknowledgedWrite(self._handle.writer, self._handle.producer, dict(self._records))

    def close(self) -> None:
        self._ended = self._ended or "it is closed"
        self._metadata.network.close()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Refuse every call after an error: of what was sent it is unknown what arrived."""
        try:
            yield
        except BaseException as why:
            self._ended = f"it has failed: {why}"
            raise

    def _deliver(self, timeout: float) -> None:
        self._ready = 0
        runtime = self._metadata.runtime
        self._sender.deliver(RetryTimer(runtime, runtime.now() + timeout))
        self._sender.drop_empty()

    def _require_open(self) -> None:
        if self._ended is not None:
            raise IllegalStateError(f"{self._what}: nothing can be sent any more, because {self._ended}")

    @property
    def _what(self) -> str:
        return f"writer {self._handle.writer} of the transaction of {self._handle.transactional_id!r}"
