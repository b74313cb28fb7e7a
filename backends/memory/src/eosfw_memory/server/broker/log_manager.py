"""Compact, shorten and tidy the logs of a broker at intervals. Kafka's `LogManager`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

from eosfw.ids import TopicPartition
from eosfw_memory.common.background_tasks import BackgroundTasks
from eosfw_memory.common.log_errors import LogError
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.cleaner.retention import retain
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.topics.topic import Topics

_LOG = logging.getLogger(__name__)
_GRACE_MS = 300_000
"""How long after the longest timeout a transaction is reported as hanging: KIP-664's five minutes."""

UndecidedWrites: TypeAlias = Callable[[], Collection[tuple[int, TopicPartition]]]
"""Gives each producer with the partitions in which its coordinator will end its transaction."""


class LogManager:
    """Runs compaction, retention and the expiry of producers as background tasks, under the broker's lock."""

    def __init__(self, topics: Topics, settings: Settings, undecided_writes: UndecidedWrites = frozenset) -> None:
        self._topics = topics
        self._settings = settings
        self._undecided_writes = undecided_writes
        self._uncleanable: set[TopicPartition] = set()
        """The partitions whose logs could not be compacted, of which it was logged."""

    def add_to(self, background_tasks: BackgroundTasks, now_ms: int) -> None:
        """Add a task for each."""
        settings = self._settings
        background_tasks.add("forgetting producer ids", settings.producer_check_ms, self.expire_producers, now_ms)
        background_tasks.add("dropping old segments", settings.retention_check_ms, self.retain, now_ms)
        background_tasks.add("compacting logs", settings.cleaner_backoff_ms, self.compact, now_ms)

    def expire_producers(self, now_ms: int) -> None:
        """Forget producers that wrote nothing for long, but none with an open transaction (BRK-08, KAFKA-9144).

        A transaction that is open much longer than any timeout allows is hanging: no coordinator will end it (BRK-10).
        The times of records alone do not tell, since records may be older than their transaction.
        """
        late_ms = now_ms - self._settings.transactions.max_timeout_ms - _GRACE_MS
        late = []
        for log in self._logs():
            log.expire_producers(now_ms - self._settings.producer_expiration_ms)
            late += [(each.producer.producer_id, log.where) for each in log.hanging_transactions(late_ms)]
        coordinated = self._undecided_writes() if late else ()
        for producer_id, where in late:
            if (producer_id, where) not in coordinated:
                _LOG.warning("%s: the transaction of producer %s hangs", where, producer_id)

    def retain(self, now_ms: int) -> None:
        """Delete old segments."""
        for log in self._logs():
            retain(log, now_ms)

    def compact(self, now_ms: int) -> None:
        """Clean the logs that keep the latest record of each key alone."""
        for log in self._logs():
            if log.config.compacted:
                try:
                    compact(log, now_ms)
                except LogError as why:  # other logs are cleaned all the same
                    if log.where not in self._uncleanable:
                        self._uncleanable.add(log.where)
                        _LOG.warning("%s-%d: cannot be compacted: %s", *log.where, why.message)

    def _logs(self) -> Iterator[PartitionLog]:
        return (log for log in self._topics.logs().values() if log.log_storage.failed is None)
