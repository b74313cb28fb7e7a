"""Keep every group with its offsets, so that the log alone rebuilds them. Kafka's `GroupMetadataManager`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.group_records import (
    Committed,
    GroupKey,
    OffsetKey,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_group,
    read_key,
    read_offset,
)
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.migration_policy import MigrationPolicy
from eosfw_memory.server.coordinators.groups.modern.changes import Change, ChangeKind
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.modern.consumer_group_records import (
    ConsumerGroupKey,
    change_key,
    change_value,
    read_change,
)
from eosfw_memory.server.coordinators.groups.offsets import LoggedOffset, Offsets
from eosfw_memory.server.coordinators.groups.offsets_topic import GroupLogMarker, GroupLogRecord, Record
from eosfw_memory.storage.records.transaction_result import TransactionResult

AnyGroup: TypeAlias = Group | ConsumerGroup
"""A group of the classic protocol, or of the consumer group protocol (KIP-848)."""
_TOMBSTONE_BYTES: Final = 500_000
"""Of the offsets that one batch forgets; the log takes twice as many."""
_LONGEST_TOMBSTONE: Final = 300
"""Bytes for an offset's topic and partition, beside the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """What a broker says of groups, by Kafka's names with dots for the underscores."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    max_size: int = 2**31 - 1
    offsets_retention_ms: int = 604_800_000
    offset_metadata_max_bytes: int = 4_096
    consumer_session_timeout_ms: int = 45_000
    consumer_min_session_timeout_ms: int = 45_000
    """The limits are those of properties of single groups."""
    consumer_max_session_timeout_ms: int = 60_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_min_heartbeat_interval_ms: int = 5_000
    consumer_max_heartbeat_interval_ms: int = 15_000
    consumer_max_size: int = 2**31 - 1
    consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL


class GroupLog(Protocol):
    """Where every change is written before it counts."""

    def partition_of(self, group_id: str) -> int:
        """Which partition keeps a group."""

    def append(
        self, group_id: str, records: Sequence[Record], now_ms: int, producer: ProducerIdAndEpoch | None = None
    ) -> int:
        """Write records, all or none; give the offset of the first; raise KafkaError if that cannot be done."""

    def describe_position(self, partition: int, position: int) -> str:
        """Where a change is, for people."""

    def replay(self) -> Iterator[GroupLogRecord | GroupLogMarker]:
        """Every change so far, each partition in its order."""


class GroupMetadataManager:
    """Every group, every offset; whatever changes is logged before it counts."""

    def __init__(self, log: GroupLog) -> None:
        self.log = log
        self._groups: dict[str, AnyGroup] = {}
        self._logged: dict[str, bytes] = {}
        """The value that was logged last for each classic group."""
        self.offsets = Offsets()

    # --- groups

    def __iter__(self) -> Iterator[AnyGroup]:
        return iter(tuple(self._groups.values()))

    def get(self, group_id: str) -> AnyGroup | None:
        """A group, or None."""
        return self._groups.get(group_id)

    def ensure(self, group_id: str, now_ms: int) -> None:
        """Have a group, if need be a classic one without members, which is not logged."""
        if group_id not in self._groups:
            self._groups[group_id] = Group(group_id, now_ms)

    def put(self, group: Group, now_ms: int) -> Group:
        """Log a classic group, with its assignments, in place of a consumer group, if there was one."""
        assignments = {member.member_id: member.assignment for member in group.members.values()}
        self._save(group, assignments, now_ms, self._replaced(group.group_id))
        self._groups[group.group_id] = group
        return group

    def change(self, group: ConsumerGroup, changes: Sequence[Change], now_ms: int) -> None:
        """Log changes of a consumer group, then make them.

        A new group takes the place of a classic one, whose members it may have, which are logged with it.
        """
        if not changes:
            return
        known = self._groups.get(group.group_id) is group
        before = [] if known else self._replaced(group.group_id)
        taken_over = group.changes() if group.members and not known else ()
        self.log.append(group.group_id, [*before, *_records(group.group_id, [*taken_over, *changes])], now_ms)
        if not known:
            self._groups[group.group_id] = group
            self._logged.pop(group.group_id, None)
        for change in changes:
            group.apply(change)

    def _replaced(self, group_id: str) -> list[Record]:
        """The records that forget a group with its members, but not its offsets."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return list(_records(group_id, group.tombstones()))
        return [] if group is None else [(group_key(group_id), None)]

    def save(self, group: Group, assignments: Mapping[str, bytes], now_ms: int) -> None:
        """Log the members of a group with these assignments; raises KafkaError if that cannot be done."""
        self._save(group, assignments, now_ms, [])

    def _save(self, group: Group, assignments: Mapping[str, bytes], now_ms: int, before: Sequence[Record]) -> None:
        value = group_value(group, assignments, now_ms)
        self.log.append(group.group_id, [*before, (group_key(group.group_id), value)], now_ms)
        self._logged[group.group_id] = value

    def delete(self, group_id: str, now_ms: int) -> None:
        """Forget a group with everything it committed; raises GroupIdNotFound or NonEmptyGroup."""
        group = self._groups.get(group_id)
        if group is None:
            raise KafkaError(Code.GROUP_ID_NOT_FOUND)
        if not group.is_empty:
            raise KafkaError(Code.NON_EMPTY_GROUP)
        # Offsets first: a crash must not keep those of a group that is gone, which would come back with its name.
        *before, last = _in_batches(self.offsets.keys(group_id)) or [[]]
        for keys in before:
            self._forget(group_id, keys, [], now_ms)
        self._forget(group_id, last, self._replaced(group_id), now_ms)
        del self._groups[group_id]
        self._logged.pop(group_id, None)

    # --- offsets

    def commit(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, Committed],
        now_ms: int,
        producer: ProducerIdAndEpoch | None = None,
    ) -> None:
        """Log offsets; in a producer's transaction they count once that is committed."""
        if not offsets:
            return
        records = [(offset_key(group_id, where), offset_value(each)) for where, each in offsets.items()]
        first = self.log.append(group_id, records, now_ms, producer)
        # Only now, so that a commit which the log refuses leaves no group behind.
        self.ensure(group_id, now_ms)
        writer = None if producer is None else (self.log.partition_of(group_id), producer.producer_id)
        for position, (where, committed) in enumerate(offsets.items(), first):
            self.offsets.put(OffsetKey(group_id, where), LoggedOffset(committed, position), writer)

    def forget_offsets(self, group_id: str, partitions: Sequence[TopicPartition], now_ms: int) -> None:
        """Forget some of the offsets that a group committed."""
        for keys in _in_batches([OffsetKey(group_id, where) for where in partitions]):
            self._forget(group_id, keys, [], now_ms)

    def _forget(self, group_id: str, keys: Sequence[OffsetKey], more: Sequence[Record], now_ms: int) -> None:
        """Forget offsets with one batch, which has more records behind their tombstones."""
        tombstones: list[Record] = [(offset_key(*key), None) for key in keys]
        self.log.append(group_id, [*tombstones, *more], now_ms)
        for key in keys:
            self.offsets.forget(key)

    def transaction_ended(self, partition: int, producer_id: int, result: TransactionResult) -> None:
        """A marker was written to a partition of the log."""
        self.offsets.end((partition, producer_id), result)

    # --- replay

    def load(self, now_ms: int) -> None:
        """Rebuild everything from the log, with offsets that wait for the end of a transaction.

        Members have a session timeout to send a heartbeat.
        """
        self._groups, self._logged, self.offsets = {}, {}, Offsets()
        for each in self.log.replay():
            if isinstance(each, GroupLogMarker):
                self.offsets.end((each.partition, each.producer_id), each.result)
                continue
            try:
                self._apply(each, now_ms)
            except DamagedDataError as why:
                where = self.log.describe_position(each.partition, each.position)
                raise DamagedDataError(f"{where}: {why}: restore the file from a copy") from why
        for group in self._groups.values():
            if isinstance(group, Group):
                group.resume(now_ms)

    def _apply(self, change: GroupLogRecord, now_ms: int) -> None:
        key = read_key(change.key)
        if isinstance(key, OffsetKey):
            self._apply_offset(key, change, now_ms)
        elif isinstance(key, ConsumerGroupKey):
            self._apply_change(key, change.value)
        elif isinstance(key, GroupKey):
            self._apply_group(key.group_id, change.value)

    def _apply_offset(self, key: OffsetKey, change: GroupLogRecord, now_ms: int) -> None:
        if change.value is None:
            self.offsets.forget(key)
            return
        self.ensure(key.group_id, now_ms)  # one that never had members has no record of its own
        writer = None if change.producer_id is None else (change.partition, change.producer_id)
        self.offsets.put(key, LoggedOffset(read_offset(key, change.value), change.position), writer)

    def _apply_group(self, group_id: str, value: bytes | None) -> None:
        if value is not None:
            self._groups[group_id] = read_group(group_id, value)
            self._logged[group_id] = value
        elif isinstance(self._groups.get(group_id), Group):
            del self._groups[group_id]
            self._logged.pop(group_id, None)

    def _apply_change(self, key: ConsumerGroupKey, value: bytes | None) -> None:
        group = self._groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return
            # A classic group that is known by its offsets alone has no record that could have been removed.
            group = self._groups[key.group_id] = ConsumerGroup(key.group_id)
            self._logged.pop(key.group_id, None)
        group.apply(read_change(key, value))
        if value is None and key.kind is ChangeKind.GROUP_METADATA:
            del self._groups[key.group_id]

    def snapshot(self) -> Iterator[GroupLogRecord]:
        """As few records as lead to what `load` makes of the log."""
        for group_id, value in self._logged.items():
            yield GroupLogRecord(self.log.partition_of(group_id), 0, None, group_key(group_id), value)
        for group in self._groups.values():
            if isinstance(group, ConsumerGroup):
                partition = self.log.partition_of(group.group_id)
                for record in _records(group.group_id, group.changes()):
                    yield GroupLogRecord(partition, 0, None, *record)
        for writer, key, logged in self.offsets.all_offsets():
            partition, producer_id = writer or (self.log.partition_of(key.group_id), None)
            value = offset_value(logged.committed)
            yield GroupLogRecord(partition, logged.position, producer_id, offset_key(*key), value)


def _records(group_id: str, changes: Iterable[Change]) -> Iterator[Record]:
    return ((change_key(group_id, change), change_value(change)) for change in changes)


def _in_batches(keys: Sequence[OffsetKey]) -> list[Sequence[OffsetKey]]:
    """Offsets of one group, as many at once as have their tombstones in one batch of the log (KAFKA-13099)."""
    most = max(1, _TOMBSTONE_BYTES // (_LONGEST_TOMBSTONE + len(keys[0].group_id.encode()))) if keys else 1
    return [keys[first : first + most] for first in range(0, len(keys), most)]
