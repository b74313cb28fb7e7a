"""Run every transaction from its first partition to its last marker.

Whatever changes is logged before it counts, so the log alone rebuilds the coordinator. An end is answered once Prepare
is logged; markers, then Complete, follow when `finish` is called. Where a write may be lost although a later one is
not, `mark` and `complete` do the two, for the caller to wait for the disk before, between and after them. Callers hold
the broker's lock; nothing here blocks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators import decisions
from eosfw_memory.coordinators.decisions import Decision
from eosfw_memory.coordinators.transaction_metadata import TV_0, TV_2, TransactionMetadata, refusals
from eosfw_memory.coordinators.transaction_state import COMPLETED, RESULT, TransactionState, advance
from eosfw_memory.records.markers import Marker
from eosfw_memory.records.transaction_result import TransactionResult

_LOG = logging.getLogger(__name__)
_AT_REST = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
_OVERTAKEN = frozenset({Code.INVALID_PRODUCER_EPOCH, Code.TRANSACTION_COORDINATOR_FENCED})
"""Somebody has ended the transaction by hand, under a newer epoch: as in Kafka it waits until the log is read anew."""

_COME_AGAIN: Final = Code.CONCURRENT_TRANSACTIONS
_NONE: Final[Mapping[str, KafkaError]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CoordinatorConfig:
    """The properties of a broker that bind its coordinator, with Kafka's defaults."""

    max_timeout_ms: int = 900_000
    """`transaction.max.timeout.ms`."""
    id_expiration_ms: int = 604_800_000
    """`transactional.id.expiration.ms`."""
    version: int = TV_2
    """The feature `transaction.version`: 2 raises the epoch whenever the coordinator itself ends a transaction, too."""


_DEFAULT = CoordinatorConfig()

WriteMarkers = Callable[[TopicPartition, Sequence[Marker]], Mapping[int, KafkaError]]
"""Append control records to a partition; give those it refused, by their place in line, with why.

A partition that no longer exists is passed over."""


class TransactionLog(Protocol):
    """Where every change is written before it counts."""

    @property
    def one_by_one(self) -> bool:
        """Whether each change must count before the next is written."""

    def append(self, transactional_id: str, metadata: TransactionMetadata | None, now_ms: int) -> None:
        """Write one change, None to forget the id; raise KafkaError and write nothing if that cannot be done."""

    def append_each(self, changes: Sequence[TransactionMetadata], now_ms: int) -> Mapping[str, KafkaError]:
        """Write one change of each of many ids; give those that could not be written, with why: the others are."""

    def epoch_of(self, transactional_id: str) -> int:
        """The leader epoch of the partition that keeps an id: the coordinator's own, in its markers (COR-10)."""

    def replay(self) -> Iterator[tuple[str, TransactionMetadata | None]]:
        """Every change so far, oldest first for each id."""


class TransactionCoordinator:
    """Kafka's `TransactionCoordinator`, with the work of its `TransactionMarkerChannelManager`, on one broker."""

    def __init__(
        self,
        log: TransactionLog,
        write_markers: WriteMarkers,
        producer_ids: Iterator[int],
        config: CoordinatorConfig = _DEFAULT,
    ) -> None:
        self.log = log
        self.write_markers = write_markers
        self._producer_ids = producer_ids
        self._config = config
        self._known: dict[str, TransactionMetadata] = {}
        self._unfinished: deque[str] = deque()
        self._marked: deque[str] = deque()

    def load(self) -> None:
        """Rebuild what is known from the log; decided transactions wait for `finish` again (COR-14)."""
        self._known = _folded(self.log.replay())
        self._unfinished = deque(name for name, known in self._known.items() if known.state in COMPLETED)
        self._marked = deque()

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Let no transaction have begun in times to come, though the clock may have gone back: it would not end."""
        for name, known in self._known.items():
            if known.started_ms > now_ms:
                self._known[name] = known._replace(started_ms=now_ms)

    # --- requests

    def initialise(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int
    ) -> ProducerIdAndEpoch:
        """Give the id to a new holder; raises ConcurrentTransactions while an older transaction is being ended."""
        if not transactional_id:
            raise KafkaError(Code.INVALID_REQUEST, "transactional.id is empty")
        self._check_timeout(timeout_ms)
        after = self._apply(transactional_id, self._claimed(transactional_id, timeout_ms, expected, now_ms), now_ms)
        if after.state in COMPLETED:
            raise KafkaError(Code.CONCURRENT_TRANSACTIONS)
        return after.producer

    def initialise_each(self, transactional_ids: Sequence[str], timeout_ms: int, now_ms: int) -> list[Decision]:
        """Give many ids to new holders that know nothing of older ones; the changes are logged together.

        Of each, in their order, what is known now, or the code to answer: none suffers from the refusal of another.
        """
        self._check_timeout(timeout_ms)
        decided: list[Decision] = []
        for name in transactional_ids:
            try:
                decided.append(self._claimed(name, timeout_ms, None, now_ms) if name else Code.INVALID_REQUEST)
            except KafkaError as why:  # there may be no producer id left
                decided.append(why.code)
        refused = self._apply_each([each for each in decided if not isinstance(each, Code)], now_ms)
        return [_response_code(each, refused) for each in decided]

    def fresh_producer_id(self) -> int:
        """A producer id nobody had before."""
        return next(self._producer_ids)

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        now_ms: int,
        client_version: int = TV_0,
    ) -> None:
        """Let the holder's transaction touch more partitions."""
        known = self._known_or_none(transactional_id)
        decided = decisions.add_partitions(known, producer, frozenset(partitions), now_ms, client_version)
        self._apply(transactional_id, decided, now_ms)

    def end(self, transactional_id: str, producer: ProducerIdAndEpoch, result: TransactionResult, now_ms: int) -> None:
        """Decide the holder's transaction for good; returns once Prepare is logged (COR-09)."""
        known = self._known_or_none(transactional_id)
        self._apply(transactional_id, decisions.end(known, producer, result, now_ms), now_ms)

    def end_with_epoch_bump(
        self, transactional_id: str, producer: ProducerIdAndEpoch, result: TransactionResult, now_ms: int
    ) -> ProducerIdAndEpoch:
        """Decide the holder's transaction for good; give what it goes on with: the next epoch (KIP-890)."""
        known = self._known_or_none(transactional_id)
        decided = decisions.end_with_epoch_bump(known, producer, result, now_ms, self.fresh_producer_id)
        after = self._apply(transactional_id, decided, now_ms)
        return decisions.prepare_complete(after, now_ms).producer if after.state in COMPLETED else after.producer

    def verify(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, Code]:
        """Say of each partition whether a write there belongs to the holder's ongoing transaction (KIP-890)."""
        return decisions.verify(self._known_or_none(transactional_id), producer, partitions)

    # --- what goes on by itself

    @property
    def unfinished(self) -> bool:
        """Whether decided transactions wait for their markers, or for the log to say that they have them."""
        return bool(self._unfinished or self._marked)

    @property
    def decided(self) -> int:
        """How many decided transactions wait for their markers."""
        return len(self._unfinished)

    @property
    def marked(self) -> int:
        """How many transactions have every marker, which the log does not say yet."""
        return len(self._marked)

    def is_ending(self, transactional_id: str) -> bool:
        """Whether a transaction of the id is decided and not complete, so that its next one has to wait."""
        known = self._known.get(transactional_id)
        return known is not None and known.state in COMPLETED

    def finish(self, now_ms: int) -> None:
        """Write the markers of every decided transaction, then log that it is complete.

        If a marker or that cannot be logged the transaction waits for the next call, and its markers are written again,
        which changes nothing for any reader (COR-10); the others need not wait (COR-11). Of many transactions the
        markers of one partition are written together, then all that are complete are logged together.
        """
        names = _taken(self._unfinished)
        done = self._completed_alone if len(names) == 1 else self._completed_together
        self._wait_again(done(names, now_ms))

    def mark(self, at_most: int | None = None) -> None:
        """Write the markers of every decided transaction, or of the oldest so many; those with all wait for the rest.

        The decisions have to be on the disk.
        """
        names = _taken(self._unfinished, at_most)
        refused = self._marked_by({name: self._known[name] for name in names})
        self._marked += (name for name in names if name not in refused)
        self._wait_again(refused)

    def complete(self, now_ms: int, at_most: int | None = None) -> None:
        """Log every transaction that has its markers as complete, or the oldest so many.

        The markers have to be on the disk: nobody would write one again that is lost.
        """
        names = _taken(self._marked, at_most)
        self._wait_again(
            self._apply_each([decisions.prepare_complete(self._known[name], now_ms) for name in names], now_ms)
        )

    def complete_unlogged(self, transactional_id: str, now_ms: int) -> TransactionMetadata:
        """Take note that a decided transaction was complete, which the log does not say: give what is known now."""
        self._unfinished.remove(transactional_id)
        return self._apply(transactional_id, decisions.prepare_complete(self._known[transactional_id], now_ms), now_ms)

    def _wait_again(self, refused: Mapping[str, KafkaError]) -> None:
        for name, why in refused.items():
            if why.code not in _OVERTAKEN:
                self._unfinished.append(name)
            _LOG.warning("the transaction of %r is decided but cannot be completed yet: %s", name, why)

    def abort_timed_out(self, now_ms: int) -> list[str]:
        """Abort every transaction that is open beyond its timeout, shutting its holder out; name them (COR-15).

        Where that cannot be logged the next sweep tries the same again.
        """
        late = [known for known in self._known.values() if known.expired(now_ms)]
        refused = self._apply_each(
            [decisions.prepare_fence_producer_epoch(each, now_ms, self._config.version) for each in late], now_ms
        )
        return [each.transactional_id for each in late if each.transactional_id not in refused]

    def fence_all(self, now_ms: int) -> list[str]:
        """Shut out whoever holds any id, even in an epoch that the log does not know; name the ids."""
        for name, known in self._known.items():
            after = decisions.fenced_with_new_producer_id(known, self.fresh_producer_id(), now_ms, self._config.version)
            self.log.append(name, after, now_ms)
            self._known[name] = after
            if after.state in COMPLETED and known.state not in COMPLETED:
                self._unfinished.append(name)
        return list(self._known)

    def expire(self, now_ms: int) -> list[str]:
        """Forget every id that nobody used for long, but never an open transaction; name them (COR-16).

        Each has a tombstone of its own, so that no number of them makes a batch too large (KAFKA-13099).
        """
        limit = now_ms - self._config.id_expiration_ms
        idle = [name for name, known in self._known.items() if known.state in _AT_REST and known.updated_ms <= limit]
        return [name for name in idle if self._forget(name, now_ms)]

    # --- looking in

    def describe(self, transactional_id: str) -> TransactionMetadata | None:
        """What is known about an id."""
        return self._known.get(transactional_id)

    def holders(self) -> Mapping[int, str]:
        """Which id each producer holds, or is to hold next."""
        next_holders = {each.next_producer_id: name for name, each in self._known.items()}
        return next_holders | {each.producer_id: name for name, each in self._known.items()}

    def transactions(self) -> list[TransactionMetadata]:
        """What is known about every id."""
        return list(self._known.values())

    # --- inside

    def _known_or_none(self, transactional_id: str) -> TransactionMetadata | None:
        if not transactional_id:
            raise KafkaError(Code.INVALID_REQUEST, "transactional.id is empty")
        return self._known.get(transactional_id)

    def _apply(self, name: str, decided: Decision, now_ms: int) -> TransactionMetadata:
        """Log a decision, then let it count; if logging fails nothing has changed, so no epoch is lost."""
        if isinstance(decided, Code):
            if decided is not Code.NONE:
                raise KafkaError(decided)
            return self._known[name]
        self.log.append(name, decided, now_ms)
        self._count(decided)
        return decided

    def _apply_each(self, changes: Sequence[TransactionMetadata], now_ms: int) -> Mapping[str, KafkaError]:
        """The same for many ids; give those whose change could not be logged, hence does not count."""
        if self.log.one_by_one:
            return refusals(changes, lambda after: self._apply(after.transactional_id, after, now_ms))
        refused = self.log.append_each(changes, now_ms) if changes else _NONE
        for after in changes:
            if after.transactional_id not in refused:
                self._count(after)
        return refused

    def _count(self, after: TransactionMetadata) -> None:
        """Let count what is logged."""
        self._known[after.transactional_id] = after
        if after.state in COMPLETED:
            self._unfinished.append(after.transactional_id)

    def _check_timeout(self, timeout_ms: int) -> None:
        if not 0 < timeout_ms <= self._config.max_timeout_ms:
            raise KafkaError(Code.INVALID_TRANSACTION_TIMEOUT)

    def _claimed(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None, now_ms: int
    ) -> Decision:
        known = self._known.get(transactional_id)
        if known is None:
            known = decisions.new_metadata(transactional_id, self.fresh_producer_id(), timeout_ms)
        return decisions.initialise(known, expected, timeout_ms, now_ms, self.fresh_producer_id, self._config.version)

    def _forget(self, name: str, now_ms: int) -> bool:
        """Tell whether its tombstone could be logged; if not, the id lives on."""
        advance(self._known[name].state, TransactionState.DEAD)
        try:
            self.log.append(name, None, now_ms)
        except KafkaError:
            return False
        del self._known[name]
        return True

    def _completed_alone(self, names: Sequence[str], now_ms: int) -> Mapping[str, KafkaError]:
        """What is below for one transaction, which most come alone: without the grouping."""
        (name,) = names
        prepared = self._known[name]
        marker = (self._marker(prepared),)
        for partition in sorted(prepared.partitions):
            refused = self.write_markers(partition, marker)
            if refused:
                return {name: refused[0]}
        try:
            self._apply(name, decisions.prepare_complete(prepared, now_ms), now_ms)
        except KafkaError as why:
            return {name: why}
        return _NONE

    def _completed_together(self, names: Sequence[str], now_ms: int) -> Mapping[str, KafkaError]:
        """Write the markers of transactions, log those whose every marker is there as complete; give the others."""
        prepared = {name: self._known[name] for name in names}
        refused = self._marked_by(prepared)
        done = [decisions.prepare_complete(each, now_ms) for name, each in prepared.items() if name not in refused]
        return {**refused, **self._apply_each(done, now_ms)}

    def _marked_by(self, prepared: Mapping[str, TransactionMetadata]) -> dict[str, KafkaError]:
        """Write the markers of transactions, partition by partition; give those that one refused."""
        lines: dict[TopicPartition, tuple[list[str], list[Marker]]] = {}
        for name, each in prepared.items():
            marker = self._marker(each)
            for partition in each.partitions:
                line = lines.get(partition)
                if line is None:
                    line = lines[partition] = [], []
                line[0].append(name)
                line[1].append(marker)
        refused: dict[str, KafkaError] = {}
        for partition, (names, markers) in sorted(lines.items()):
            for at, why in self.write_markers(partition, markers).items():
                refused.setdefault(names[at], why)
        return refused

    def _marker(self, prepared: TransactionMetadata) -> Marker:
        return Marker(prepared.producer, RESULT[prepared.state], self.log.epoch_of(prepared.transactional_id))


def _taken(waiting: deque[str], at_most: int | None = None) -> list[str]:
    """Take those in front out of a line."""
    return [waiting.popleft() for _ in range(len(waiting) if at_most is None else min(at_most, len(waiting)))]


def _response_code(decided: Decision, refused: Mapping[str, KafkaError]) -> Decision:
    """What InitProducerId answers to a decision, once it was logged or refused."""
    if isinstance(decided, Code):
        return decided
    if refused and decided.transactional_id in refused:
        return refused[decided.transactional_id].code
    return _COME_AGAIN if decided.state in COMPLETED else decided


def _folded(changes: Iterator[tuple[str, TransactionMetadata | None]]) -> dict[str, TransactionMetadata]:
    known: dict[str, TransactionMetadata] = {}
    for name, after in changes:
        before = known.pop(name, None)
        if after is None:
            continue
        if before is not None and before.producer_id == after.producer_id and after.epoch < before.epoch:
            raise DamagedDataError(
                f"transaction log: the epoch of {name!r} goes back from {before.epoch} to {after.epoch}"
            )
        known[name] = after
    return known
