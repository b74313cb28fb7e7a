"""Deliver the batches of one producer to the leaders of their partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from eosfw.errors import ClusterUnavailableError, EosfwError, IndefiniteOutcomeError, UnknownTopicOrPartitionError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from eosfw_memory.client.apis import PRODUCE as PRODUCE_API
from eosfw_memory.client.apis import PRODUCE_ADDING, Fields, milliseconds
from eosfw_memory.client.channel import Channel, HopelessError, NoAnswerError
from eosfw_memory.client.errors import DELIVERY, MOVED, PRODUCE, RETRIABLE, indefinite, ours
from eosfw_memory.client.group_offsets import GroupOffsets
from eosfw_memory.client.metadata import Routes
from eosfw_memory.client.record_accumulator import NOBODY, Outbox
from eosfw_memory.client.retry_timer import Patience
from eosfw_memory.client.transaction_manager import Coordination
from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer

_ALL = -1
_AT_ONCE = 8 << 20
"""Bytes of one request, well below what brokers accept (100 MiB)."""


class Delivery:
    """What a producer has to deliver, and its part in the open transaction; used by one thread at a time.

    The Java client's `RecordAccumulator` over all partitions, and the produce requests of its `Sender`.
    """

    def __init__(self, routes: Routes, coordination: Coordination | None, max_bytes: int, acks: int = _ALL) -> None:
        self.waiting: dict[TopicPartition, Outbox] = {}
        """Every outbox that may hold something; however many partitions a producer knows, few are in use."""
        self.producer: ProducerIdAndEpoch = NOBODY
        self._routes = routes
        self._coordination = coordination
        self._transactional_id = None if coordination is None else coordination.transactional_id
        self._max_bytes, self._acks = max_bytes, acks
        self._outboxes: dict[TopicPartition, Outbox] = {}
        self._added: set[TopicPartition] = set()
        self._groups: set[str] = set()

    def outbox(self, where: TopicPartition) -> Outbox:
        """The outbox of a partition, to put something in."""
        found = self._outboxes.get(where)
        if found is None:
            found = self._outboxes[where] = Outbox(
                where, self.producer, self._max_bytes, transactional=self._coordination is not None
            )
        self.waiting[where] = found
        return found

    def seal(self) -> set[str]:
        """Make everything ready to go; give the topics of what was not."""
        return {outbox.where.topic for outbox in self.waiting.values() if outbox.seal()}

    def tidy(self) -> None:
        """Lose sight of the outboxes that are empty."""
        for where in [where for where, outbox in self.waiting.items() if outbox.empty]:
            del self.waiting[where]

    def begin(self) -> None:
        """A new transaction touches nothing yet."""
        self._added.clear()
        self._groups.clear()

    def go_on_with(self, producer: ProducerIdAndEpoch) -> None:
        """Write the next transaction with this producer; under another epoch sequence numbers begin anew."""
        if producer != self.producer:
            self.producer = producer
            self._outboxes.clear()
            self.waiting.clear()

    @property
    def touched(self) -> bool:
        """Whether the coordinator may know of the open transaction."""
        return bool(self._added or self._groups)

    def deliver(self, patience: Patience) -> None:
        """Deliver every sealed batch; raise the first failure."""
        settled = self._routes.runtime.now() + self._routes.network.settling
        while waiting := [outbox for outbox in tuple(self.waiting.values()) if outbox.sealed]:
            self._add_new(waiting, patience)
            failed = 0
            for channel, some in self._by_leader(waiting, patience):
                failed = self._produce(channel, some, patience, settled) or failed
            if failed and not patience.again():
                raise ours(failed, PRODUCE, self._what())

    def drop(self, why: EosfwError) -> None:
        """Forget everything that is not delivered."""
        for outbox in tuple(self.waiting.values()):
            outbox.drop(why)
        self.tidy()

    # --- the coordinators' part

    def send_offsets(
        self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, patience: Patience
    ) -> None:
        """Make offsets of a consumer group a part of the open transaction (PRD-05)."""
        if self._coordination is None:
            return
        bumping = self._coordination.bumping
        if group.group_id not in self._groups:
            if not bumping:
                self._coordination.add_group(self.producer, group.group_id, patience)
            self._groups.add(group.group_id)
        holder = (self._coordination.transactional_id, self.producer)
        GroupOffsets(self._routes).commit(holder, group, offsets, patience, adding=bumping)

    def _add_new(self, waiting: Collection[Outbox], patience: Patience) -> None:
        if self._coordination is None:
            return
        new = [outbox.where for outbox in waiting if outbox.where not in self._added]
        if new:
            for outbox in waiting:
                self._leader(outbox, patience)  # so that a partition that does not exist is named, not the others
            if not self._coordination.bumping:
                self._coordination.add(self.producer, new, patience)
            self._added.update(new)

    # --- the leaders' part

    def _by_leader(self, waiting: Collection[Outbox], patience: Patience) -> list[tuple[Channel, list[Outbox]]]:
        """One batch of each partition, in requests that are not too large."""
        grouped: dict[Channel, list[Outbox]] = {}
        for outbox in waiting:
            grouped.setdefault(self._leader(outbox, patience), []).append(outbox)
        return [(channel, some) for channel, every in grouped.items() for some in _portions(every)]

    def _leader(self, outbox: Outbox, patience: Patience) -> Channel:
        try:
            return self._routes.leader(outbox.where, patience)
        except UnknownTopicOrPartitionError:
            raise
        except ClusterUnavailableError as why:
            raise indefinite(self._what(), why) if self._coordination else why from why

    def _produce(self, channel: Channel, some: Sequence[Outbox], patience: Patience, settled: float) -> int:
        """Send the first batch of each outbox; give a code that may be tried again, 0 if there is none."""
        answer: Any = self._answer(channel, some, patience)
        if answer is None:
            return int(Code.NETWORK_EXCEPTION)
        results = {
            TopicPartition(topic["name"], each["index"]): each
            for topic in answer["responses"]
            for each in topic["partition_responses"]
        }
        failed = 0
        for outbox in some:
            failed = self._settle(outbox, results.get(outbox.where), settled) or failed
        return failed

    def _settle(self, outbox: Outbox, result: Any, settled: float) -> int:
        if result is None:
            raise IndefiniteOutcomeError(f"{self._what()}: the broker did not say what became of {outbox.where}")
        code = result["error_code"]
        if code in (Code.NONE, Code.DUPLICATE_SEQUENCE_NUMBER):
            outbox.delivered(result["base_offset"])
            return 0
        late = code == Code.UNKNOWN_TOPIC_OR_PARTITION and self._routes.runtime.now() >= settled
        if code not in RETRIABLE or late:
            what, said = f"{self._what()} to {outbox.where}", result.get("error_message")
            outbox.refused(ours(code, DELIVERY, what, said))
            raise ours(code, PRODUCE, what, said)
        if code in MOVED:
            self._routes.forget(outbox.where.topic)
        return int(code)

    def _answer(self, channel: Channel, some: Sequence[Outbox], patience: Patience) -> Answer | None:
        """The answer; None when the same batches may be sent again."""
        request = _request(self._transactional_id, some, patience.left(), self._acks)
        api = PRODUCE_ADDING if self._coordination is not None and self._coordination.bumping else PRODUCE_API
        try:
            return channel.call(api, request, patience.deadline)
        except ClusterUnavailableError as why:
            for outbox in some:
                self._routes.forget(outbox.where.topic)
            # Sequence numbers make a repetition harmless; without them it could store the records twice.
            lost = isinstance(why, NoAnswerError) and self.producer is NOBODY
            if lost or isinstance(why, HopelessError) or patience.left() <= 0:
                raise self._failure(why) from why
            return None

    def _failure(self, why: ClusterUnavailableError) -> EosfwError:
        definite = self._coordination is None and not isinstance(why, NoAnswerError)
        return ClusterUnavailableError(f"{self._what()}: {why}") if definite else indefinite(self._what(), why)

    def _what(self) -> str:
        name = "producer" if self._transactional_id is None else f"producer {self._transactional_id!r}"
        return f"Produce of {name} at {self._routes.network.servers}"


def _portions(every: Sequence[Outbox]) -> list[list[Outbox]]:
    portions: list[list[Outbox]] = [[]]
    size = 0
    for outbox in every:
        size += len(outbox.sealed[0].data)
        if portions[-1] and size > _AT_ONCE:
            portions.append([])
            size = len(outbox.sealed[0].data)
        portions[-1].append(outbox)
    return portions


def _request(transactional_id: str | None, some: Sequence[Outbox], left: float, acks: int) -> Fields:
    topics: dict[str, list[Fields]] = {}
    for outbox in some:
        data = Fields(index=outbox.where.partition, records=outbox.sealed[0].data)
        topics.setdefault(outbox.where.topic, []).append(data)
    return Fields(
        transactional_id=transactional_id,
        acks=acks,
        timeout=milliseconds(min(left, 30.0)),
        topic_data=[Fields(name=name, partition_data=data) for name, data in topics.items()],
    )
