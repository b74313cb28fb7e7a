"""Run every transaction from its first partition to its last marker.

Whatever changes is logged before it counts, so the log alone rebuilds the coordinator. An end is answered once Prepare
is logged; markers, then Complete, follow when `finish` is called. Where a write may be lost although a later one is
not, `mark` and `complete` do the two, for the caller to wait for the disk before, between and after them. Callers hold
the broker's lock; nothing here blocks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators import decisions
from eosfw_memory.coordinators.decisions import Decision
from eosfw_memory.coordinators.transaction_metadata import TV_0, TV_2, TransactionMetadata
from eosfw_memory.coordinators.transaction_state import COMPLETED, RESULT, TransactionState, advance
from eosfw_memory.records.markers import Marker
from eosfw_memory.records.transaction_result import TransactionResult

_LOG = logging.getLogger(__name__)
_AT_REST = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
_OVERTAKEN = frozenset({Code.INVALID_PRODUCER_EPOCH, Code.TRANSACTION_COORDINATOR_FENCED})
"""Somebody has ended the transaction by hand, under a newer epoch: as in Kafka it waits until the log is read anew."""


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

WriteMarker = Callable[[TopicPartition, Marker], None]
"""Appends a control record to a partition; raises KafkaError where that refuses it, but not where it is gone."""


class TransactionLog(Protocol):
    """Where every change is written before it counts."""

    def append(self, transactional_id: str, metadata: TransactionMetadata | None, now_ms: int) -> None:
        """Write one change, None to forget the id; raise KafkaError and write nothing if that cannot be done."""

    def epoch_of(self, transactional_id: str) -> int:
        """The leader epoch of the partition that keeps an id: the coordinator's own, in its markers (COR-10)."""

    def replay(self) -> Iterator[tuple[str, TransactionMetadata | None]]:
        """Every change so far, oldest first for each id."""


class TransactionCoordinator:
    """Kafka's `TransactionCoordinator`, with the work of its `TransactionMarkerChannelManager`, on one broker."""

    def __init__(
        self,
        log: TransactionLog,
        write_marker: WriteMarker,
        producer_ids: Iterator[int],
        config: CoordinatorConfig = _DEFAULT,
    ) -> None:
        self.log = log
        self.write_marker = write_marker
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
        which changes nothing for any reader (COR-10); the others need not wait (COR-11).
        """
        for name in _taken(self._unfinished):
            try:
                self._write_markers(name)
                self._log_as_complete(name, now_ms)
            except KafkaError as why:
                self._wait_again(name, why)

    def mark(self, at_most: int | None = None) -> None:
        """Write the markers of every decided transaction, or of the oldest so many; those with all wait for the rest.

        The decisions have to be on the disk.
        """
        for name in _taken(self._unfinished, at_most):
            try:
                self._write_markers(name)
            except KafkaError as why:
                self._wait_again(name, why)
            else:
                self._marked.append(name)

    def complete(self, now_ms: int, at_most: int | None = None) -> None:
        """Log every transaction that has its markers as complete, or the oldest so many.

        The markers have to be on the disk: nobody would write one again that is lost.
        """
        for name in _taken(self._marked, at_most):
            try:
                self._log_as_complete(name, now_ms)
            except KafkaError as why:
                self._wait_again(name, why)

    def complete_unlogged(self, transactional_id: str, now_ms: int) -> TransactionMetadata:
        """Take note that a decided transaction was complete, which the log does not say: give what is known now."""
        self._unfinished.remove(transactional_id)
        return self._log_as_complete(transactional_id, now_ms)

    def _wait_again(self, name: str, why: KafkaError) -> None:
        if why.code not in _OVERTAKEN:
            self._unfinished.append(name)
        _LOG.warning("the transaction of %r is decided but cannot be completed yet: %s", name, why)

    def abort_timed_out(self, now_ms: int) -> list[str]:
        """Abort every transaction that is open beyond its timeout, shutting its holder out; name them (COR-15).

        Where that cannot be logged the next sweep tries the same again.
        """
        late = [known for known in self._known.values() if known.expired(now_ms)]
        return [each.transactional_id for each in late if self._abort(each, now_ms)]

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
        self._known[name] = decided
        if decided.state in COMPLETED:
            self._unfinished.append(name)
        return decided

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

    def _abort(self, late: TransactionMetadata, now_ms: int) -> bool:
        """Tell whether the abort of a transaction could be logged; if not, it stays open."""
        decided = decisions.prepare_fence_producer_epoch(late, now_ms, self._config.version)
        try:
            self._apply(late.transactional_id, decided, now_ms)
        except KafkaError:
            return False
        return True

    def _write_markers(self, name: str) -> None:
        prepared = self._known[name]
        marker = Marker(prepared.producer, RESULT[prepared.state], self.log.epoch_of(name))
        for partition in sorted(prepared.partitions):
            self.write_marker(partition, marker)

    def _log_as_complete(self, name: str, now_ms: int) -> TransactionMetadata:
        return self._apply(name, decisions.prepare_complete(self._known[name], now_ms), now_ms)


def _taken(waiting: deque[str], at_most: int | None = None) -> list[str]:
    """Take those in front out of a line."""
    return [waiting.popleft() for _ in range(len(waiting) if at_most is None else min(at_most, len(waiting)))]


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
