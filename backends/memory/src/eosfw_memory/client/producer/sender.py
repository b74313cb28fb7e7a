"""Deliver the batches of one producer to the leaders of their partitions, as Kafka's `Sender` does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from eosfw.error_table import DELIVERY, MOVED, PRODUCE, RETRIABLE, TOO_LARGE
from eosfw.errors import (
    ClusterUnavailableError,
    EosfwError,
    IndefiniteOutcomeError,
    TopicAuthorizationError,
    UnknownTopicOrPartitionError,
)
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw.retry_timer import RetryTimer
from eosfw.security import explained
from eosfw_memory.client.group_offsets import GroupOffsets
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.producer.record_accumulator import NO_PRODUCER, PartitionAccumulator
from eosfw_memory.client.transaction_manager import TransactionManager
from eosfw_memory.client.transport.apis import PRODUCE as PRODUCE_API
from eosfw_memory.client.transport.apis import PRODUCE_V2, Fields, milliseconds
from eosfw_memory.client.transport.channel import Channel, NoAnswerError, NotRetriableError
from eosfw_memory.client.transport.errors import error_for, indefinite
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer

_ALL = -1
_AT_ONCE = 8 << 20
"""Bytes of one request; brokers accept 100 MiB."""
_LOST_BEFORE = (Code.OUT_OF_ORDER_SEQUENCE_NUMBER, Code.UNKNOWN_PRODUCER_ID)
"""The broker does not have the batches before this one, nor this one, whose sequence numbers it would know."""


class Sender:
    """The undelivered batches of a producer, and what its open transaction contains; one thread at a time uses it.

    The Java client's `RecordAccumulator` over all partitions, and the produce requests of its `Sender`.
    """

    def __init__(
        self,
        metadata: ClusterMetadata,
        transaction_manager: TransactionManager | None,
        max_bytes: int,
        acks: int = _ALL,
    ) -> None:
        self.waiting: dict[TopicPartition, PartitionAccumulator] = {}
        """The accumulators that may hold records, a few of all that the producer has used."""
        self.producer: ProducerIdAndEpoch = NO_PRODUCER
        self._metadata = metadata
        self._transaction_manager = transaction_manager
        self._transactional_id = None if transaction_manager is None else transaction_manager.transactional_id
        self._max_bytes, self._acks = max_bytes, acks
        self.lock = metadata.runtime.lock()
        """For the batches that records are added to: whoever adds some holds it."""
        self._accumulators: dict[TopicPartition, PartitionAccumulator] = {}
        self._added: set[TopicPartition] = set()
        self._groups: set[str] = set()

    def accumulator(self, where: TopicPartition) -> PartitionAccumulator:
        """The accumulator of a partition, to add records to."""
        found = self._accumulators.get(where)
        if found is None:
            found = self._accumulators[where] = PartitionAccumulator(
                where,
                self.producer,
                self._max_bytes,
                transactional=self._transaction_manager is not None,
                lock=self.lock,
            )
        self.waiting[where] = found
        return found

    def close_batches(self) -> set[str]:
        """Close every open batch; return the topics of those that were open."""
        return {accumulator.where.topic for accumulator in self.waiting.values() if accumulator.close_batch()}

    def drop_empty(self) -> None:
        """Forget the accumulators that hold nothing."""
        for where in [where for where, accumulator in self.waiting.items() if accumulator.empty]:
            del self.waiting[where]

    def begin(self) -> None:
        """Begin a transaction, which contains no partition or group yet."""
        self._added.clear()
        self._groups.clear()

    def attach(self, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]) -> None:
        """Write in a transaction that another process has begun, to partitions that need not be added from here."""
        self.producer = producer
        self._added.update(partitions)

    def set_producer(self, producer: ProducerIdAndEpoch) -> None:
        """Write the next transaction with this producer; with another epoch sequence numbers start at 0."""
        if producer != self.producer:
            self.producer = producer
            self._accumulators.clear()
            self.waiting.clear()

    @property
    def transaction_started(self) -> bool:
        """Whether the transaction contains a partition or a group, so that the coordinator may know of it."""
        return bool(self._added or self._groups)

    def deliver(self, timer: RetryTimer) -> None:
        """Deliver every closed batch; raise the first failure."""
        known_by = self._metadata.runtime.now() + self._metadata.network.propagation_timeout
        # One batch of a partition at a time: behind one that fails, none with a higher sequence number is on its way.
        while waiting := [accumulator for accumulator in tuple(self.waiting.values()) if accumulator.closed_batches]:
            failed = self._deliver_first(waiting, timer, known_by)
            if failed and not timer.backoff():
                raise error_for(failed, PRODUCE, self._what())

    def _deliver_first(self, waiting: Sequence[PartitionAccumulator], timer: RetryTimer, known_by: float) -> int:
        """Deliver the first batch of each accumulator; return the code of one to try again, or 0."""
        failed = 0
        try:
            self._add_new(waiting, timer)
            grouped, missing = self._by_leader(waiting, timer)
            for channel, some in grouped:
                failed = self._produce(channel, some, timer, known_by) or failed
            if missing is not None:
                raise missing
        except TopicAuthorizationError as why:
            topics = list(dict.fromkeys(accumulator.where.topic for accumulator in waiting))
            raise explained(why, self._metadata.authentication, ("Write",), "topic", topics) from why.__cause__
        except UnknownTopicOrPartitionError:
            # The topic may be created again with other partitions.
            self._metadata.forget(*(accumulator.where.topic for accumulator in waiting))
            raise
        return failed

    @property
    def outcome_unknown(self) -> bool:
        """Whether some batch may have been stored although no broker has said so."""
        return any(accumulator.outcome_unknown for accumulator in self._accumulators.values())

    def discard(self, why: EosfwError) -> None:
        """Discard every record that is not delivered."""
        for accumulator in tuple(self.waiting.values()):
            accumulator.discard(why)
        self.drop_empty()

    # --- requests to coordinators

    def send_offsets(
        self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, timer: RetryTimer
    ) -> None:
        """Add offsets of a consumer group to the open transaction."""
        if self._transaction_manager is None:
            return
        transaction_v2 = self._transaction_manager.transaction_v2
        if group.group_id not in self._groups:
            if not transaction_v2:
                self._transaction_manager.add_offsets(self.producer, group.group_id, timer)
            self._groups.add(group.group_id)
        holder = (self._transaction_manager.transactional_id, self.producer)
        GroupOffsets(self._metadata).commit(holder, group, offsets, timer, transaction_v2=transaction_v2)

    def add_partitions(self, partitions: Collection[TopicPartition], timer: RetryTimer) -> None:
        """Make partitions part of the transaction, unless their first batches do that (version 2 of transactions)."""
        manager = self._transaction_manager
        if manager is not None and partitions:
            if not manager.transaction_v2:
                manager.add_partitions(self.producer, partitions, timer)
            self._added.update(partitions)

    def _add_new(self, waiting: Collection[PartitionAccumulator], timer: RetryTimer) -> None:
        if self._transaction_manager is None:
            return
        new = [accumulator.where for accumulator in waiting if accumulator.where not in self._added]
        if new:
            for accumulator in waiting:
                # Raises for a partition that does not exist; the coordinator would also refuse those beside it.
                self._leader(accumulator.where, timer)
            self.add_partitions(new, timer)

    # --- requests to leaders

    def _by_leader(
        self, waiting: Collection[PartitionAccumulator], timer: RetryTimer
    ) -> tuple[list[tuple[Channel, list[PartitionAccumulator]]], EosfwError | None]:
        """The first batch of each partition, grouped into requests of limited size; and why one has no leader.

        What was sent to a partition that does not exist fails, or it would hold back all the others for ever.
        """
        grouped: dict[Channel, list[PartitionAccumulator]] = {}
        missing: EosfwError | None = None
        for accumulator in waiting:
            try:
                grouped.setdefault(self._leader(accumulator.where, timer), []).append(accumulator)
            except UnknownTopicOrPartitionError as why:
                missing = missing or why
                accumulator.fail_first(why)
                if self._transaction_manager is None:
                    accumulator.discard(why)
        return [(channel, some) for channel, every in grouped.items() for some in _portions(every)], missing

    def _leader(self, where: TopicPartition, timer: RetryTimer) -> Channel:
        try:
            return self._metadata.leader(where, timer)
        except UnknownTopicOrPartitionError:
            raise
        except ClusterUnavailableError as why:
            raise indefinite(self._what(), why) if self._transaction_manager else why from why

    def _produce(
        self, channel: Channel, some: Sequence[PartitionAccumulator], timer: RetryTimer, known_by: float
    ) -> int:
        """Send the first batch of each accumulator; return the code of one to try again, or 0."""
        answer: Any = self._answer(channel, some, timer)
        if answer is None:
            return int(Code.NETWORK_EXCEPTION)
        results = {
            TopicPartition(topic["name"], each["index"]): each
            for topic in answer["responses"]
            for each in topic["partition_responses"]
        }
        failed, refused = 0, None
        for accumulator in some:
            try:
                failed = self._settle(accumulator, results.get(accumulator.where), known_by) or failed
            except EosfwError as why:
                # First the others, too, since a batch that was stored has used up its sequence numbers.
                refused = refused or why
        if refused is not None:
            raise refused
        return failed

    def _settle(self, accumulator: PartitionAccumulator, result: Any, known_by: float) -> int:
        if result is None:
            raise IndefiniteOutcomeError(f"{self._what()}: the broker did not say what became of {accumulator.where}")
        code = result["error_code"]
        # A duplicate whose offset the broker has forgotten is stored all the same: a success for Java's client, too.
        if code in (Code.NONE, Code.DUPLICATE_SEQUENCE_NUMBER):
            accumulator.complete_first(result["base_offset"])
            return 0
        if code in TOO_LARGE and accumulator.split_first():
            return 0
        if code in _LOST_BEFORE and self._transaction_manager is None and self.producer is not NO_PRODUCER:
            accumulator.raise_epoch()
            return int(code)
        late = code == Code.UNKNOWN_TOPIC_OR_PARTITION and self._metadata.runtime.now() >= known_by
        if code not in RETRIABLE or late:
            # An UnknownServerError, for one, may follow after the batch was stored.
            accumulator.outcome_unknown |= PRODUCE.named(code) is None
            what, said = f"{self._what()} to {accumulator.where}", result.get("error_message")
            accumulator.fail_first(error_for(code, DELIVERY, what, said))
            raise error_for(code, PRODUCE, what, said)
        accumulator.outcome_unknown = True
        if code in MOVED:
            self._metadata.forget(accumulator.where.topic)
        return int(code)

    def _answer(self, channel: Channel, some: Sequence[PartitionAccumulator], timer: RetryTimer) -> Answer | None:
        """The answer, or None when the same batches may be sent again."""
        request = _request(self._transactional_id, some, timer.remaining(), self._acks)
        api = (
            PRODUCE_V2
            if self._transaction_manager is not None and self._transaction_manager.transaction_v2
            else PRODUCE_API
        )
        try:
            return channel.call(api, request, timer.deadline)
        except ClusterUnavailableError as why:
            self._metadata.forget(*(accumulator.where.topic for accumulator in some))
            for accumulator in some:
                accumulator.outcome_unknown = True
            # With sequence numbers the broker recognises a repeated batch. Without them it would store it twice.
            lost = isinstance(why, NoAnswerError) and self.producer is NO_PRODUCER
            if lost or isinstance(why, NotRetriableError) or not timer.remaining():
                raise self._failure(why) from why
            return None

    def _failure(self, why: ClusterUnavailableError) -> EosfwError:
        definite = self._transaction_manager is None and not isinstance(why, NoAnswerError)
        return ClusterUnavailableError(f"{self._what()}: {why}") if definite else indefinite(self._what(), why)

    def _what(self) -> str:
        name = "producer" if self._transactional_id is None else f"producer {self._transactional_id!r}"
        return f"Produce of {name} at {self._metadata.network.servers}"


def _portions(every: Sequence[PartitionAccumulator]) -> list[list[PartitionAccumulator]]:
    portions: list[list[PartitionAccumulator]] = [[]]
    size = 0
    for accumulator in every:
        size += len(accumulator.closed_batches[0].data)
        if portions[-1] and size > _AT_ONCE:
            portions.append([])
            size = len(accumulator.closed_batches[0].data)
        portions[-1].append(accumulator)
    return portions


def _request(transactional_id: str | None, some: Sequence[PartitionAccumulator], left: float, acks: int) -> Fields:
    topics: dict[str, list[Fields]] = {}
    for accumulator in some:
        data = Fields(index=accumulator.where.partition, records=accumulator.closed_batches[0].data)
        topics.setdefault(accumulator.where.topic, []).append(data)
    return Fields(
        transactional_id=transactional_id,
        acks=acks,
        timeout=milliseconds(min(left, 30.0)),
        topic_data=[Fields(name=name, partition_data=data) for name, data in topics.items()],
    )
