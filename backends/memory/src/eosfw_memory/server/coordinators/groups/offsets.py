"""The offsets that groups committed, and those that wait for the end of a transaction (GRP-01).

Kafka's `OffsetMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.groups.group_records import Committed, OffsetKey
from eosfw_memory.storage.records.transaction_result import TransactionResult

Writer: TypeAlias = tuple[int, int]
"""A partition of the log with a producer id: a transaction has one end in each partition."""


class LoggedOffset(NamedTuple):
    """An offset with the position of its record in the log: of two, the later one counts."""

    committed: Committed
    position: int


_NOTHING: Mapping[TopicPartition, LoggedOffset] = {}


class Offsets:
    """Every group's offsets, made by nothing but the records of the log in their order, live as at replay."""

    def __init__(self) -> None:
        self._committed: dict[str, dict[TopicPartition, LoggedOffset]] = {}
        self._pending: dict[Writer, dict[OffsetKey, LoggedOffset]] = {}
        self._writers: dict[str, dict[TopicPartition, set[Writer]]] = {}
        """The index from groups to `_pending`: which transactions may change a group's offsets."""

    # --- what records say

    def put(self, key: OffsetKey, logged: LoggedOffset, writer: Writer | None = None) -> None:
        """A group committed an offset, which counts at once, or with the end of its writer's transaction."""
        if writer is None:
            self._committed.setdefault(key.group_id, {})[key.where] = logged
        else:
            self._pending.setdefault(writer, {})[key] = logged
            self._writers.setdefault(key.group_id, {}).setdefault(key.where, set()).add(writer)

    def end(self, writer: Writer, result: TransactionResult) -> None:
        """A producer's transaction ended: its offsets count from now on, or never existed."""
        for key, logged in self._pending.pop(writer, {}).items():
            self._decided(writer, key)
            before = self.of(key.group_id).get(key.where)
            # What was committed later in the log, outside the transaction, is newer.
            if result is TransactionResult.COMMIT and (before is None or before.position < logged.position):
                self.put(key, logged)

    def forget(self, key: OffsetKey) -> None:
        """Remove an offset, also from open transactions, as a tombstone asks for it."""
        known = self._committed.get(key.group_id, {})
        known.pop(key.where, None)
        if not known:
            self._committed.pop(key.group_id, None)
        for writer in tuple(self._writers.get(key.group_id, {}).get(key.where, ())):
            self._decided(writer, key)
            del self._pending[writer][key]
            if not self._pending[writer]:
                del self._pending[writer]

    def _decided(self, writer: Writer, key: OffsetKey) -> None:
        where = self._writers[key.group_id]
        where[key.where].discard(writer)
        if not where[key.where]:
            del where[key.where]
        if not where:
            del self._writers[key.group_id]

    # --- what is known

    def of(self, group_id: str) -> Mapping[TopicPartition, LoggedOffset]:
        """The offsets that a group committed; read only."""
        return self._committed.get(group_id, _NOTHING)

    def undecided(self, group_id: str) -> Collection[TopicPartition]:
        """The partitions whose offsets an open transaction may change (GRP-03); read only."""
        return self._writers.get(group_id, {}).keys()

    def about(self, concerned: Callable[[str], bool]) -> Mapping[str, list[TopicPartition]]:
        """The partitions with offsets, committed or pending, of the topics that `concerned` picks, by group."""
        groups = {*self._committed, *self._writers}
        found = {group: [key.where for key in self.keys(group) if concerned(key.where.topic)] for group in groups}
        return {group: partitions for group, partitions in found.items() if partitions}

    def all_offsets(self) -> Iterator[tuple[Writer | None, OffsetKey, LoggedOffset]]:
        """Every offset, with the transaction on whose end it depends, if it does."""
        for group_id, committed in self._committed.items():
            yield from ((None, OffsetKey(group_id, where), logged) for where, logged in committed.items())
        for writer, waiting in self._pending.items():
            yield from ((writer, key, logged) for key, logged in waiting.items())

    def keys(self, group_id: str) -> list[OffsetKey]:
        """The keys of all offsets of a group, committed and pending."""
        return [OffsetKey(group_id, where) for where in sorted({*self.of(group_id), *self.undecided(group_id)})]
