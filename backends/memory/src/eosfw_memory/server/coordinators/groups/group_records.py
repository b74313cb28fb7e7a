"""Write groups, with their offsets, as records of `__consumer_offsets`, byte for byte as Kafka does.

Keys of version 1 (0 is read, too) are offsets, of version 2 classic groups, others consumer groups; a key of an unknown
version means nothing here and is passed over. Offsets are written in version 4, groups in version 3, as Kafka 4.1
writes them; older ones are read.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.members import Member
from eosfw_memory.server.coordinators.groups.modern.consumer_group_records import (
    CONSUMER_GROUP_KINDS,
    ConsumerGroupKey,
    read_change_key,
)
from eosfw_memory.server.coordinators.message_reader import MessageReader
from eosfw_memory.server.coordinators.message_writer import NO_TAGS, binary, nullable_string, string
from eosfw_memory.storage.records.varints import compact_string

_OFFSET_KEYS, _GROUP_KEY = (0, 1), 2
_OFFSET_VERSION, _GROUP_VERSION = 4, 3
_FLEXIBLE_OFFSET, _EXPIRING_OFFSET_VERSION = 4, 1
_INT16, _INT32, _INT64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
NO_LEADER_EPOCH = -1
NO_EXPIRY = -1


class OffsetKey(NamedTuple):
    """Whose offset for what."""

    group_id: str
    where: TopicPartition


class GroupKey(NamedTuple):
    """Which group."""

    group_id: str


class Committed(NamedTuple):
    """An offset that a group committed: that of the next record to read."""

    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    expires_ms: int = NO_EXPIRY
    """Set by clients of before OffsetCommit 5 alone; -1 otherwise."""


# --- keys


def offset_key(group_id: str, where: TopicPartition) -> bytes:
    """The key of every record about one offset of one group."""
    return _INT16.pack(_OFFSET_KEYS[-1]) + string(group_id) + string(where.topic) + _INT32.pack(where.partition)


def group_key(group_id: str) -> bytes:
    """The key of every record about the members of one group."""
    return _INT16.pack(_GROUP_KEY) + string(group_id)


def read_key(key: bytes) -> OffsetKey | GroupKey | ConsumerGroupKey | None:
    """The group or offset that a record is about, or None for a key of an unknown kind."""
    reader = MessageReader(key, 0, compact=False)
    try:
        version = reader.unpack(_INT16)[0]
        if version in _OFFSET_KEYS:
            return OffsetKey(reader.string(), TopicPartition(reader.string(), reader.int32()))
        if version in CONSUMER_GROUP_KINDS:
            return read_change_key(version, reader)
        return GroupKey(reader.string()) if version == _GROUP_KEY else None
    except (struct.error, ValueError) as why:
        raise DamagedDataError(f"group offsets: key {key!r} cannot be read: {why}") from why


# --- values of offsets


def offset_value(committed: Committed) -> bytes:
    """The value that states an offset."""
    # Only version 1 has a time of expiry, so Kafka still writes it for such an offset.
    if committed.expires_ms != NO_EXPIRY:
        head = struct.pack(">hq", _EXPIRING_OFFSET_VERSION, committed.offset) + string(committed.metadata)
        return head + struct.pack(">qq", committed.committed_ms, committed.expires_ms)
    return b"".join(
        (
            struct.pack(">hqi", _OFFSET_VERSION, committed.offset, committed.leader_epoch),
            compact_string(committed.metadata),
            _INT64.pack(committed.committed_ms),
            NO_TAGS,
        )
    )


def read_offset(key: OffsetKey, value: bytes) -> Committed:
    """The offset of a value; raises DamagedDataError."""
    what = f"offset of group {key.group_id!r} for {key.where}"
    try:
        version = _versioned(value, _OFFSET_VERSION, what)
        reader = MessageReader(value, _INT16.size, compact=version >= _FLEXIBLE_OFFSET)
        offset = reader.unpack(_INT64)[0]
        epoch = reader.int32() if version >= 3 else NO_LEADER_EPOCH
        metadata, committed_ms = reader.string(), reader.unpack(_INT64)[0]
        expires_ms = reader.unpack(_INT64)[0] if version == _EXPIRING_OFFSET_VERSION else NO_EXPIRY
    except (struct.error, IndexError, ValueError) as why:
        raise DamagedDataError(f"group offsets: {what} cannot be read: {why}") from why
    return Committed(offset, epoch, metadata, committed_ms, expires_ms)


# --- values of groups


def group_value(group: Group, assignments: Mapping[str, bytes], now_ms: int) -> bytes:
    """The value of a record with the members of a group and these assignments."""
    parts = [
        _INT16.pack(_GROUP_VERSION),
        string(group.protocol_type or ""),
        _INT32.pack(group.generation),
        nullable_string(group.protocol_name),
        nullable_string(group.leader),
        _INT64.pack(now_ms),
        _INT32.pack(len(group.members)),
    ]
    for member in group.members.values():
        parts += _member(member, group.protocol_name, assignments.get(member.member_id, b""))
    return b"".join(parts)


def _member(member: Member, protocol: str | None, assignment: bytes) -> tuple[bytes, ...]:
    return (
        string(member.member_id),
        nullable_string(member.instance_id),
        string(member.client_id),
        string(member.client_host),
        struct.pack(">ii", member.rebalance_timeout_ms, member.session_timeout_ms),
        binary(member.metadata(protocol)),
        binary(assignment),
    )


def read_group(group_id: str, value: bytes) -> Group:
    """The group of a value, without any delayed request; raises DamagedDataError."""
    what = f"group {group_id!r}"
    try:
        return _group(group_id, _versioned(value, _GROUP_VERSION, what), value)
    except (struct.error, IndexError, ValueError) as why:
        raise DamagedDataError(f"group offsets: {what} cannot be read: {why}") from why


def _group(group_id: str, version: int, value: bytes) -> Group:
    reader = MessageReader(value, _INT16.size, compact=False)
    group = Group(group_id, 0)
    protocol_type = reader.string()
    group.generation = reader.int32()
    group.protocol_name, leader = reader.nullable_string(), reader.nullable_string()
    group.since_ms = reader.unpack(_INT64)[0] if version >= 2 else -1
    for _ in range(reader.int32()):
        group.add(_read_member(reader, version, group.protocol_name or ""), protocol_type)
    group.protocol_type = protocol_type or None
    # Behind the members, since `add` makes the first one the leader.
    group.leader = leader
    return group


def _read_member(reader: MessageReader, version: int, protocol: str) -> Member:
    member_id = reader.string()
    instance_id = reader.nullable_string() if version >= 3 else None
    client_id, client_host = reader.string(), reader.string()
    first = reader.int32()
    # Version 0 has one timeout, which serves for both.
    session_ms = reader.int32() if version >= 1 else first
    metadata, assignment = reader.binary(), reader.binary()
    protocols = ((protocol, metadata),)
    return Member(member_id, instance_id, client_id, client_host, session_ms, first, protocols, assignment)


# --- fields


def _versioned(value: bytes, newest: int, what: str) -> int:
    version = int(_INT16.unpack_from(value)[0])
    if not 0 <= version <= newest:
        raise DamagedDataError(
            f"group offsets: {what} has version {version}, at most {newest} is known; it was written by a newer broker"
        )
    return version
