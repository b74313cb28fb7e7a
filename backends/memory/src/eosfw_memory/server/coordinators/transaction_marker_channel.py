"""Take decided transactions to their end: markers, then Complete. Kafka's `TransactionMarkerChannelManager`.

A cluster of one broker sends its markers to nobody, it writes them. `complete_all` does all at once. Where a write may
be lost although a later one is not, `write_markers` and `log_completed` do the two steps, and the caller waits for the
disk before, between and after them.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators import decisions
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import COMPLETED, RESULT
from eosfw_memory.server.coordinators.transaction_state_manager import TransactionStateManager
from eosfw_memory.storage.records.markers import Marker

_LOG = logging.getLogger(__name__)
_ENDED_ELSEWHERE = frozenset({Code.INVALID_PRODUCER_EPOCH, Code.TRANSACTION_COORDINATOR_FENCED})
"""The transaction was ended by WriteTxnMarkers in a newer epoch: as in Kafka it waits for the next start."""

WriteMarker: TypeAlias = Callable[[TopicPartition, Marker], None]
"""Appends a control record to a partition; raises KafkaError where that refuses it, but not where it was deleted."""


class TransactionMarkerChannel:
    """The transactions that are decided and not complete, in the order of their decisions."""

    def __init__(self, transactions: TransactionStateManager, write_marker: WriteMarker) -> None:
        self.write_marker = write_marker
        self._transactions = transactions
        self._decided: deque[str] = deque()
        self._marked: deque[str] = deque()

    def load(self) -> None:
        """Take the transactions that the log calls decided; their markers are written again (COR-14)."""
        self._decided = deque(each.transactional_id for each in self._transactions.all() if each.state in COMPLETED)
        self._marked = deque()

    def add(self, transactional_id: str) -> None:
        """Queue a transaction that was just decided."""
        self._decided.append(transactional_id)

    @property
    def is_empty(self) -> bool:
        """Whether every decided transaction is complete."""
        return not self._decided and not self._marked

    @property
    def decided(self) -> int:
        """How many decided transactions wait for their markers."""
        return len(self._decided)

    @property
    def marked(self) -> int:
        """How many transactions have every marker, which the log does not say yet."""
        return len(self._marked)

    def complete_all(self, now_ms: int) -> None:
        """Write the markers of every decided transaction, then log which are complete.

        If a marker or that cannot be logged the transaction waits for the next call, and its markers are written again,
        which changes nothing for any reader (COR-10); the others need not wait (COR-11).
        """
        # A Complete that is logged before a marker would let the next start forget that marker.
        self.write_markers()
        self.log_completed(now_ms)

    def write_markers(self, at_most: int | None = None) -> None:
        """Write the markers of every decided transaction, or of the oldest `at_most` ones.

        The decisions have to be on the disk: a marker without its decision could end one transaction both ways.
        """
        for name in _taken(self._decided, at_most):
            prepared = self._transactions[name]
            marker = Marker(prepared.producer, RESULT[prepared.state], self._transactions.log.epoch_of(name))
            try:
                for partition in sorted(prepared.partitions):
                    self.write_marker(partition, marker)
            except KafkaError as why:
                self._wait_again(name, why)
            else:
                self._marked.append(name)

    def log_completed(self, now_ms: int, at_most: int | None = None) -> None:
        """Log every transaction that has its markers as complete, or the oldest `at_most` ones.

        The markers have to be on the disk: nobody would write one again that is lost.
        """
        for name in _taken(self._marked, at_most):
            try:
                self._log_completed(name, now_ms)
            except KafkaError as why:
                self._wait_again(name, why)

    def complete_unlogged(self, transactional_id: str, now_ms: int) -> TransactionMetadata:
        """Log a decided transaction as complete that had all its markers before a crash; give the metadata."""
        self._decided.remove(transactional_id)
        return self._log_completed(transactional_id, now_ms)

    def _log_completed(self, transactional_id: str, now_ms: int) -> TransactionMetadata:
        completed = decisions.prepare_complete(self._transactions[transactional_id], now_ms)
        return self._transactions.apply(transactional_id, completed, now_ms)

    def _wait_again(self, transactional_id: str, why: KafkaError) -> None:
        if why.code not in _ENDED_ELSEWHERE:
            self._decided.append(transactional_id)
        _LOG.warning("the transaction of %r is decided but cannot be completed yet: %s", transactional_id, why)


def _taken(waiting: deque[str], at_most: int | None = None) -> Iterable[str]:
    """Take those in front out of a queue."""
    count = len(waiting) if at_most is None else min(at_most, len(waiting))
    return [waiting.popleft() for _ in range(count)]
