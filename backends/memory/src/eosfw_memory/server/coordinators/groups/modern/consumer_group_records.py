"""Write the changes of consumer groups as records of `__consumer_offsets`, byte for byte as Kafka 4.1 does."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from eosfw.errors import DamagedDataError
from eosfw_memory.server.coordinators.groups.modern.changes import (
    Change,
    ChangeKind,
    GroupMetadata,
    PartitionMetadata,
    ResolvedRegularExpression,
    TargetAssignment,
    TargetAssignmentMetadata,
    Value,
)
from eosfw_memory.server.coordinators.groups.modern.member import (
    Assignment,
    ClassicMemberMetadata,
    CurrentAssignment,
    MemberMetadata,
    MemberState,
)
from eosfw_memory.server.coordinators.message_reader import MessageReader
from eosfw_memory.server.coordinators.message_writer import NO_TAGS, string
from eosfw_memory.storage.records.varints import compact_bytes, compact_string, encoded_unsigned

_K = ChangeKind
_INT16, _INT32, _INT64 = (struct.Struct(f">{each}") for each in "hiq")
_UUID: Final = struct.Struct(">16s")
_CURRENT: Final = struct.Struct(">iib")
_RESOLVED: Final = struct.Struct(">qq")
_VERSION: Final = _INT16.pack(0)
_HASH_TAG, _CLASSIC_TAG = 0, 0
_NO_CLASSIC_MEMBER: Final = b"\0"
"""Kafka writes that a member is none of the classic protocol, though it is the default."""
_CLASSIC_MEMBER: Final = b"\1"
_NAMED: Final = frozenset(
    (_K.MEMBER_METADATA, _K.TARGET_ASSIGNMENT_MEMBER, _K.CURRENT_MEMBER_ASSIGNMENT, _K.REGULAR_EXPRESSION)
)
"""The kinds that are about a member or a regular expression, which the key names behind the group."""
CONSUMER_GROUP_KINDS: Final = frozenset(ChangeKind)
"""The kinds of keys that are read here."""


class ConsumerGroupKey(NamedTuple):
    """What a record is about."""

    group_id: str
    kind: ChangeKind
    name: str


# --- keys


def change_key(group_id: str, change: Change) -> bytes:
    """The key of a change's record."""
    name = string(change.name) if change.kind in _NAMED else b""
    return _INT16.pack(change.kind) + string(group_id) + name


def read_change_key(kind: int, reader: MessageReader) -> ConsumerGroupKey:
    """The rest of a key behind its kind; raises struct.error or ValueError."""
    group_id = reader.string()
    return ConsumerGroupKey(group_id, ChangeKind(kind), reader.string() if kind in _NAMED else "")


# --- values


def change_value(change: Change) -> bytes | None:
    """The value of a change's record."""
    value = change.value
    return None if value is None else _VERSION + b"".join(_fields(value))


def _fields(value: Value) -> Iterator[bytes]:
    if isinstance(value, GroupMetadata):
        yield _INT32.pack(value.epoch)
    elif isinstance(value, MemberMetadata):
        yield from _member_fields(value)
    elif isinstance(value, TargetAssignmentMetadata):
        yield _INT32.pack(value.assignment_epoch)
    elif isinstance(value, TargetAssignment):
        yield _partitions(value.partitions)
    elif isinstance(value, CurrentAssignment):
        yield _CURRENT.pack(value.member_epoch, value.previous_member_epoch, value.state)
        yield from map(_partitions, (value.assigned, value.pending_revocation))
    elif isinstance(value, ResolvedRegularExpression):
        yield _strings(value.topics) + _RESOLVED.pack(value.version, value.resolved_ms)
    else:
        yield _strings(())  # what Kafka before 4.1 knew of the topics is not needed any more
    yield _tags(value)


def _tags(value: Value) -> bytes:
    if isinstance(value, MemberMetadata):
        return _tag(_CLASSIC_TAG, _NO_CLASSIC_MEMBER if value.classic is None else _classic_member(value.classic))
    if not isinstance(value, GroupMetadata) or not value.metadata_hash:
        return NO_TAGS
    return _tag(_HASH_TAG, _INT64.pack(value.metadata_hash))


def _tag(number: int, data: bytes) -> bytes:
    """A tagged field, which is the only one."""
    return b"".join((*map(encoded_unsigned, (1, number, len(data))), data))


def _classic_member(value: ClassicMemberMetadata) -> bytes:
    parts = [_CLASSIC_MEMBER, _INT32.pack(value.session_timeout_ms), encoded_unsigned(len(value.protocols) + 1)]
    for name, metadata in value.protocols:
        parts += compact_string(name), compact_bytes(metadata), NO_TAGS
    return b"".join((*parts, NO_TAGS))


def _member_fields(value: MemberMetadata) -> Iterator[bytes]:
    yield from map(compact_string, (value.instance_id, value.rack_id, value.client_id, value.client_host))
    yield _strings(value.topic_names)
    yield compact_string(value.topic_regex)
    yield _INT32.pack(value.rebalance_timeout_ms)
    yield compact_string(value.server_assignor)


def _partitions(assignment: Assignment) -> bytes:
    parts = [encoded_unsigned(len(assignment) + 1)]
    for topic_id, partitions in assignment.items():
        parts += topic_id.bytes, encoded_unsigned(len(partitions) + 1)
        parts += (*map(_INT32.pack, sorted(partitions)), NO_TAGS)
    return b"".join(parts)


def _strings(texts: Iterable[str]) -> bytes:
    every = sorted(texts)
    return encoded_unsigned(len(every) + 1) + b"".join(map(compact_string, every))


def read_change(key: ConsumerGroupKey, value: bytes | None) -> Change:
    """The change of a record; raises DamagedDataError."""
    if value is None:
        return Change(key.kind, key.name)
    what = f"{key.kind.name.lower().replace('_', ' ')} of consumer group {key.group_id!r}"
    try:
        version = int(_INT16.unpack_from(value)[0])
        if version != 0:
            raise DamagedDataError(
                f"group offsets: {what} has version {version}, only 0 is known; it was written by a newer broker"
            )
        return Change(key.kind, key.name, _READERS[key.kind](MessageReader(value, _INT16.size, compact=True)))
    except (struct.error, IndexError, ValueError) as why:
        raise DamagedDataError(f"group offsets: {what} cannot be read: {why}") from why


def _read_group(reader: MessageReader) -> GroupMetadata:
    epoch, hashed = reader.int32(), reader.tags().get(_HASH_TAG)
    return GroupMetadata(epoch, 0 if hashed is None else int(_INT64.unpack(hashed)[0]))


def _read_member(reader: MessageReader) -> MemberMetadata:
    return MemberMetadata(
        instance_id=reader.nullable_string(),
        rack_id=reader.nullable_string(),
        client_id=reader.string(),
        client_host=reader.string(),
        topic_names=_read_strings(reader),
        topic_regex=reader.nullable_string() or "",
        rebalance_timeout_ms=reader.int32(),
        server_assignor=reader.nullable_string(),
        classic=_read_classic_member(reader.tags().get(_CLASSIC_TAG, _NO_CLASSIC_MEMBER)),
    )


def _read_classic_member(data: bytes) -> ClassicMemberMetadata | None:
    if data == _NO_CLASSIC_MEMBER:
        return None
    reader = MessageReader(data, len(_CLASSIC_MEMBER), compact=True)
    session_timeout_ms, protocols = reader.int32(), []
    for _ in range(reader.array_length()):
        protocols.append((reader.string(), reader.binary()))
        reader.tags()
    return ClassicMemberMetadata(session_timeout_ms, tuple(protocols))


def _read_current(reader: MessageReader) -> CurrentAssignment:
    epoch, previous, number = reader.unpack(_CURRENT)
    return CurrentAssignment(epoch, previous, MemberState(number), _read_partitions(reader), _read_partitions(reader))


def _read_partitions(reader: MessageReader) -> Assignment:
    assignment = {}
    for _ in range(reader.array_length()):
        topic_id = UUID(bytes=reader.unpack(_UUID)[0])
        assignment[topic_id] = frozenset(reader.int32() for _ in range(reader.array_length()))
        reader.tags()
    return assignment


def _read_strings(reader: MessageReader) -> frozenset[str]:
    return frozenset(reader.string() for _ in range(reader.array_length()))


_READERS: Final[Mapping[ChangeKind, Callable[[MessageReader], Value]]] = {
    _K.GROUP_METADATA: _read_group,
    _K.PARTITION_METADATA: lambda _: PartitionMetadata(),
    _K.MEMBER_METADATA: _read_member,
    _K.TARGET_ASSIGNMENT_METADATA: lambda reader: TargetAssignmentMetadata(reader.int32()),
    _K.TARGET_ASSIGNMENT_MEMBER: lambda reader: TargetAssignment(_read_partitions(reader)),
    _K.CURRENT_MEMBER_ASSIGNMENT: _read_current,
    _K.REGULAR_EXPRESSION: lambda reader: ResolvedRegularExpression(_read_strings(reader), *reader.unpack(_RESOLVED)),
}
