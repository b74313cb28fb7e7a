"""The metadata of every transactional id, logged before it counts. Kafka's `TransactionStateManager`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.decisions import Decision
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import AT_REST, TransactionState, advance


class TransactionLog(Protocol):
    """Where every change is written before it counts."""

    def append(self, transactional_id: str, metadata: TransactionMetadata | None, now_ms: int) -> None:
        """Write one change, None to forget the id; raise KafkaError and write nothing if that cannot be done."""

    def epoch_of(self, transactional_id: str) -> int:
        """The leader epoch of the partition that keeps an id: the coordinator's own, in its markers (COR-10)."""

    def replay(self) -> Iterator[tuple[str, TransactionMetadata | None]]:
        """Every change so far, oldest first for each id."""


class TransactionStateManager:
    """The metadata of every transactional id, as a replay of the log gives it."""

    def __init__(self, log: TransactionLog) -> None:
        self.log = log
        self._metadata: dict[str, TransactionMetadata] = {}

    def load(self) -> None:
        """Rebuild all metadata from the log."""
        self._metadata = _replayed(self.log.replay())

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """The metadata of an id, or None for an unused one."""
        return self._metadata.get(transactional_id)

    def __getitem__(self, transactional_id: str) -> TransactionMetadata:
        return self._metadata[transactional_id]

    def all(self) -> list[TransactionMetadata]:
        """The metadata of every id."""
        return list(self._metadata.values())

    def ids_by_producer(self) -> Mapping[int, str]:
        """Which id each producer holds, or is to hold next."""
        next_holders = {each.next_producer_id: each.transactional_id for each in self._metadata.values()}
        return next_holders | {each.producer_id: each.transactional_id for each in self._metadata.values()}

    def undecided_writes(self) -> Collection[tuple[int, TopicPartition]]:
        """Each producer with the partitions in which its transaction has still to be ended."""
        return {
            (each.producer_id, where)
            for each in self._metadata.values()
            if each.state not in AT_REST
            for where in each.partitions
        }

    def apply(self, transactional_id: str, decided: Decision, now_ms: int) -> TransactionMetadata:
        """Log a decision, then let it count: if logging fails nothing has changed, so no epoch is lost.

        Raises the decision as KafkaError where it is a code that refuses the request.
        """
        if isinstance(decided, Code):
            if decided is not Code.NONE:
                raise KafkaError(decided)
            return self._metadata[transactional_id]
        self.log.append(transactional_id, decided, now_ms)
        self._metadata[transactional_id] = decided
        return decided

    def unused_since(self, limit_ms: int) -> list[str]:
        """The ids that were not used since, but none with an open transaction."""
        return [
            each.transactional_id
            for each in self._metadata.values()
            if each.state in AT_REST and each.updated_ms <= limit_ms
        ]

    def remove(self, transactional_id: str, now_ms: int) -> bool:
        """Forget an id; tell whether its tombstone could be logged: if not, the id stays."""
        advance(self._metadata[transactional_id].state, TransactionState.DEAD)
        try:
            self.log.append(transactional_id, None, now_ms)
        except KafkaError:
            return False
        del self._metadata[transactional_id]
        return True

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Let no transaction have begun later than now: it would stay open for too long."""
        for name, known in self._metadata.items():
            if known.started_ms > now_ms:
                self._metadata[name] = known._replace(started_ms=now_ms)


def _replayed(changes: Iterator[tuple[str, TransactionMetadata | None]]) -> dict[str, TransactionMetadata]:
    known: dict[str, TransactionMetadata] = {}
    for name, after in changes:
        before = known.pop(name, None)  # so that the ids stand in the order of their last changes
        if after is None:
            continue
        if before is not None and before.producer_id == after.producer_id and after.epoch < before.epoch:
            raise DamagedDataError(
                f"transaction log: the epoch of {name!r} goes back from {before.epoch} to {after.epoch}"
            )
        known[name] = after
    return known
