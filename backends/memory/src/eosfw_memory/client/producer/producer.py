"""The producer, with or without transactions, over any transport (Kafka's `KafkaProducer`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType

from eosfw.concurrency import FairLock
from eosfw.errors import AbortableError, ConfigError, EosfwError, IllegalStateError, RetriableError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import BatchDeliveryCallback, ConsumerGroupMetadata, TransactionalProducer
from eosfw.records import ProducerBatch
from eosfw.retry_timer import RetryTimer
from eosfw.security import FirstAuthentication, group_of_offsets, needs
from eosfw.state.producer_state import ProducerCall, ProducerStateMachine, TransactionManagerState
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.producer.partitioner import StickyPartitioner, partition_of
from eosfw_memory.client.producer.record_accumulator import NO_PRODUCER, select_records
from eosfw_memory.client.producer.sender import Sender
from eosfw_memory.client.transaction_manager import TransactionManager, new_producer_id
from eosfw_memory.client.transport.errors import indefinite

FULL = 1 << 20
"""Bytes of closed batches at which a send delivers them, instead of leaving that to flush or commit."""
_LAST_DELIVERY = 1.0
"""Seconds that a close waits for a thread whose delivery it has ended."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The settings of one producer; durations in seconds, sizes in bytes."""

    transactional_id: str | None
    transaction_timeout: float
    max_block: float
    max_request: int
    buffer: int
    """Bytes of records that wait in all partitions together, after which a send delivers them."""
    idempotent: bool
    """Whether batches carry a producer id, so that one whose answer was lost may be sent again."""
    acks: int
    transaction_version: int | None = None
    """The version of transactions (KIP-890); None means the one that the cluster has finalized."""


def _topic_of(_: object, batch: ProducerBatch, *_more: object, **_named: object) -> tuple[str, ...]:
    return (batch.topic,)


class MemoryProducer(TransactionalProducer):
    """A `TransactionalProducer` that speaks Kafka's protocol itself.

    It has no thread. Sent records are delivered by the call that completes enough of them for a request, by flush, and
    by commit. With direct calls a transaction's first record and every batch are delivered at once.
    """

    def __init__(self, settings: ProducerSettings, metadata: ClusterMetadata) -> None:
        self.transactional_id = settings.transactional_id
        self._settings = settings
        self._metadata = metadata
        self._runtime = metadata.runtime
        name = settings.transactional_id
        self._transaction_manager = (
            None if name is None else TransactionManager(metadata, name, settings.transaction_version)
        )
        self._sender = Sender(metadata, self._transaction_manager, settings.max_request, settings.acks)
        self._anonymous = settings.idempotent and name is None
        self._progress = ProducerStateMachine(transactional=name is not None, lock=self._runtime.lock())
        self._lock = self._sender.lock
        """For the batches that records are added to, and so that all threads use one producer id."""
        self._delivery_lock = FairLock(self._runtime)
        """Held until a broker has answered, and taken before `_lock`, so that others may go on sending meanwhile."""
        self._failing = _Failing(self._progress)
        self._sticky = StickyPartitioner()
        self._ready = 0
        self._buffered = 0
        """Bytes that were sent since the last delivery of all records; closed batches may be gone."""

    @property
    def authentication(self) -> FirstAuthentication:
        return self._metadata.authentication

    @needs("transactional-id", "Write", "Describe", names="transactional_id")
    def init_transactions(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.INIT):
            if self._transaction_manager is not None:
                timer = self.new_timer(timeout)
                self._sender.producer = self._transaction_manager.init_producer_id(
                    self._settings.transaction_timeout, timer
                )

    def begin_transaction(self) -> None:
        with self._progress.during(ProducerCall.BEGIN):
            self._sender.begin()

    @property
    def holder(self) -> ProducerIdAndEpoch:
        """The producer id and epoch of the open transaction."""
        return self._sender.producer

    @property
    def transaction_version(self) -> int:
        """The version of transactions that the last initialisation has chosen (KIP-890)."""
        manager = self._transaction_manager
        return 2 if manager is not None and manager.transaction_v2 else 1

    def add_partitions(self, partitions: Collection[TopicPartition], timeout: float) -> None:
        """Make partitions part of the transaction that others write to; UnknownTopicOrPartitionError, if not there."""
        with self._progress.during(ProducerCall.SEND):
            timer = self.new_timer(timeout)
            for one in partitions:
                self._metadata.leader(one, timer)  # raises for one that does not exist
            with self._delivering(timer):
                self._sender.add_partitions(partitions, timer)

    @needs("topic", "Write", names=_topic_of)
    def send_batch(self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None = None) -> None:
        self._progress.check(ProducerCall.SEND)
        records = len(batch.values)
        if not records:
            return
        callbacks = None if on_delivery is None else [partial(on_delivery, at) for at in range(records)]
        with self._failing:
            self._identify()
            for partition, part, indexes in self._split(batch):
                own = callbacks if callbacks is None or indexes is None else [callbacks[at] for at in indexes]
                with self._lock:
                    self._progress.check(ProducerCall.SEND)  # another thread may have begun to end the transaction
                    accumulator = self._sender.accumulator(TopicPartition(batch.topic, partition))
                    before = accumulator.added_bytes
                    ready = accumulator.add(part, int(self._runtime.wall() * 1000), own)
                    self._ready += ready
                    self._buffered += accumulator.added_bytes - before
                if ready and batch.partition is None:
                    self._sticky.on_new_batch(batch.topic)
        # Where a request costs next to nothing, the cluster learns of a transaction with its first record.
        self._deliver_early(due=records > 1 or not self._sender.transaction_started)

    @needs("group", "Read", names=group_of_offsets)
    def send_offsets(self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, timeout: float) -> None:
        with self._progress.during(ProducerCall.SEND_OFFSETS):
            if not offsets:
                return
            timer = self.new_timer(timeout)
            with self._delivering(timer):
                self._sender.send_offsets(offsets, group, timer)

    def flush(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.FLUSH):
            self._deliver(self.new_timer(timeout))

    def commit_transaction(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.COMMIT):
            self._end(self.new_timer(timeout), commit=True)

    def abort_transaction(self, timeout: float) -> None:
        with self._progress.during(ProducerCall.ABORT):
            timer = self.new_timer(timeout)
            with self._delivering(timer), self._lock:
                outcome_unknown = self._sender.outcome_unknown
                self._drop("its transaction was aborted before it was delivered")
            self._end(timer, commit=False)
            if outcome_unknown:
                self._renew_epoch(timer)

    def close(self, timeout: float = 0.0) -> None:
        usable = self._progress.state not in (TransactionManagerState.FATAL_ERROR, TransactionManagerState.CLOSED)
        self._progress.close()
        if timeout > 0 and usable:
            with suppress(EosfwError):
                self._deliver(self.new_timer(timeout))
        self._metadata.network.close()  # so that a thread which still delivers ends
        with self._delivery_lock.held(self._runtime.now() + _LAST_DELIVERY) as mine:
            if mine:
                self._drop("its producer was closed before it was acknowledged")

    def _drop(self, why: str) -> None:
        """Call the callbacks of the records that are not acknowledged, and will not be."""
        with self._lock:
            self._ready = self._buffered = 0
            self._sender.discard(AbortableError(f"{self._name}: the record was dropped: {why}"))

    def _identify(self) -> None:
        """Get a producer id for an idempotent producer without a transactional id."""
        if self._anonymous and self._sender.producer is NO_PRODUCER:
            with self._lock:
                if self._sender.producer is NO_PRODUCER:
                    self._sender.producer = new_producer_id(self._metadata, self.new_timer(self._settings.max_block))

    # --- partitions

    def _split(self, batch: ProducerBatch) -> Iterator[tuple[int, ProducerBatch, Sequence[int] | None]]:
        """The parts of a batch by partition, in the order of sending, with their indexes in it; None means all."""
        if batch.partition is not None:
            yield batch.partition, batch, None
            return
        count = self._metadata.partitions(batch.topic, self.new_timer(self._settings.max_block))
        unkeyed = self._sticky.partition(batch.topic, count)
        if batch.keys is None:
            yield unkeyed, batch, None
        else:
            yield from self._split_by_key(batch, batch.keys, count, unkeyed)

    def _split_by_key(
        self, batch: ProducerBatch, keys: Sequence[bytes | None], count: int, unkeyed: int
    ) -> Iterator[tuple[int, ProducerBatch, Sequence[int] | None]]:
        known: dict[bytes | None, int] = {None: unkeyed}
        indexes: dict[int, list[int]] = {}
        for at, key in enumerate(keys):
            partition = known.get(key)
            if partition is None and key is not None:
                partition = known[key] = partition_of(key, count)
            indexes.setdefault(partition or 0, []).append(at)
        for partition, chosen in indexes.items():
            if len(chosen) == len(batch):
                yield partition, batch, None
            else:
                yield partition, select_records(batch, chosen, partition), chosen

    # --- delivery

    def _deliver_early(self, *, due: bool) -> None:
        """Deliver during a send, if there is enough; in a transaction the next call raises a failure."""
        transactional = self._transaction_manager is not None
        eager = due and transactional and self._metadata.network.eager
        # Many partitions may each have gathered less than a batch.
        everything = eager or self._buffered >= self._settings.buffer
        if not everything and self._ready < FULL:
            return
        try:
            self._deliver(self.new_timer(self._settings.max_block), closing=everything)
        except EosfwError as why:
            # The records were accepted, so the caller must not send them again, as a retriable error would ask for.
            failed = AbortableError(str(why)) if isinstance(why, RetriableError) else why
            if not transactional:
                raise failed from why
            self._progress.fail(failed)

    def _deliver(self, timer: RetryTimer, *, closing: bool = True) -> None:
        with self._delivering(timer):
            if closing:
                self._close_batches()
                self._buffered = 0
            self._ready = 0
            self._sender.deliver(timer)
            with self._lock:
                self._sender.drop_empty()

    @contextmanager
    def _delivering(self, timer: RetryTimer) -> Iterator[None]:
        """Be the only thread that delivers: sequence numbers must arrive in their order."""
        with self._delivery_lock.held(timer.deadline) as mine:
            if not mine:
                busy = "another thread of this producer is still delivering"
                raise indefinite(self._name, IllegalStateError(busy))
            yield

    def _close_batches(self) -> None:
        with self._lock:
            topics = self._sender.close_batches()
        for topic in topics:
            self._sticky.on_new_batch(topic)

    def _end(self, timer: RetryTimer, *, commit: bool) -> None:
        if commit and self._sender.waiting:
            self._deliver(timer)
        if self._sender.transaction_started and self._transaction_manager is not None:
            after = self._transaction_manager.end_transaction(self._sender.producer, timer, commit=commit)
            with self._lock:
                self._sender.set_producer(after)

    def _renew_epoch(self, timer: RetryTimer) -> None:
        """Number the next batches anew: those of before would be taken for batches that may be stored (KIP-360).

        In version 2 of transactions the end has done that.
        """
        manager = self._transaction_manager
        if manager is not None and not manager.transaction_v2:
            after = manager.renew_epoch(self._sender.producer, self._settings.transaction_timeout, timer)
            with self._lock:
                self._sender.set_producer(after)

    def new_timer(self, timeout: float) -> RetryTimer:
        """A timer of one call."""
        return RetryTimer(self._runtime, self._runtime.now() + timeout)

    @property
    def _name(self) -> str:
        named = f"producer {self.transactional_id!r}" if self.transactional_id is not None else "producer"
        return f"{named} at {self._metadata.network.servers}"


class _Failing:
    """Fails the transaction when a send fails, but not by a retriable error, after which the send may be repeated."""

    def __init__(self, progress: ProducerStateMachine) -> None:
        self._progress = progress

    def __enter__(self) -> None:
        """Do nothing: this object holds no state, so all threads share it."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ConfigError):
            # Of a topic that cannot exist: its record is missing in the transaction, which must not commit.
            failed = AbortableError(str(error))
            self._progress.fail(failed)
            raise failed from error
        if isinstance(error, EosfwError) and not isinstance(error, RetriableError):
            self._progress.fail(error)
