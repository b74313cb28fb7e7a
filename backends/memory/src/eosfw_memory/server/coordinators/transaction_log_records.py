"""Write a transactional id's metadata as a record of `__transaction_state`, byte for byte as Kafka does (COR-13).

Keys have version 0. Values are written in version 1, the flexible one with which Kafka runs versions 1 and 2 of
transactions; both versions are read. A key of an unknown version is ignored, a value of one is an error.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from functools import lru_cache

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.message_reader import MessageReader
from eosfw_memory.server.coordinators.message_writer import NO_TAGS
from eosfw_memory.server.coordinators.transaction_metadata import NO_PRODUCER_ID, TV_0, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.varints import encoded_unsigned

_KEY_VERSION, _VALUE_VERSION = 0, 1
# Version, producer id, epoch, timeout, state; time of the last change, time of the start.
_HEAD = struct.Struct(">hqhib")
_TIMES = struct.Struct(">qq")
_INT64 = struct.Struct(">q")
_INT16 = struct.Struct(">h")
_PREVIOUS_PRODUCER_ID_TAG, _NEXT_PRODUCER_ID_TAG, _CLIENT_VERSION_TAG = range(3)
_NO_PARTITIONS = encoded_unsigned(0)
_NOBODY = _INT64.pack(NO_PRODUCER_ID)
_OLD = _INT16.pack(TV_0)
_REMEMBERED = 1 << 15
"""Encoding a key, the partitions and the tags anew is a seventh of a small transaction of the memory client."""
_KEY_HEAD = 4
_FEW = 16
"""A transaction of no more partitions is worth remembering: the next one of its producer has the same."""


@lru_cache(_REMEMBERED)
def encode_key(transactional_id: str) -> bytes:
    """The key of every record about one transactional id."""
    name = transactional_id.encode()
    return struct.pack(">hh", _KEY_VERSION, len(name)) + name


def decode_key(key: bytes) -> str | None:
    """The transactional id of a key, or None for a key of an unknown version; raises DamagedDataError."""
    try:
        version, length = struct.unpack_from(">hh", key)
        if version != _KEY_VERSION:
            return None
        if length == len(key) - _KEY_HEAD:
            return key[_KEY_HEAD:].decode()
        why = f"a name of {length} bytes is declared where there are {len(key) - _KEY_HEAD}"
    except (struct.error, ValueError) as unreadable:
        why = str(unreadable)
    raise DamagedDataError(f"transaction log: key {key!r} cannot be read: {why}")


def encode_value(metadata: TransactionMetadata) -> bytes:
    """The value of a record with this metadata."""
    (
        _,
        producer_id,
        epoch,
        timeout_ms,
        state,
        touched,
        updated_ms,
        started_ms,
        _,
        previous,
        next_producer_id,
        version,
    ) = metadata
    if state is TransactionState.EMPTY:  # Kafka writes null, not an empty array, while there is no transaction
        partitions = _NO_PARTITIONS
    else:
        partitions = (_encode_few if len(touched) <= _FEW else _encode_topics)(touched)
    head = _HEAD.pack(_VALUE_VERSION, producer_id, epoch, timeout_ms, state)
    times = _TIMES.pack(updated_ms, started_ms)
    return b"".join((head, partitions, times, _encode_tags(previous, next_producer_id, version)))


def _encode_topics(touched: frozenset[TopicPartition]) -> bytes:
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(touched):
        topics[topic].append(partition)
    parts = [encoded_unsigned(len(topics) + 1)]
    for topic, partitions in topics.items():
        name = topic.encode()
        numbers = struct.pack(f">{len(partitions)}i", *partitions)
        parts += encoded_unsigned(len(name) + 1), name, encoded_unsigned(len(partitions) + 1), numbers, NO_TAGS
    return b"".join(parts)


_encode_few = lru_cache(_REMEMBERED)(_encode_topics)


@lru_cache(_REMEMBERED)
def _encode_tags(previous_producer_id: int, next_producer_id: int, client_version: int) -> bytes:
    fields = [
        (tag, _INT64.pack(producer_id))
        for tag, producer_id in (
            (_PREVIOUS_PRODUCER_ID_TAG, previous_producer_id),
            (_NEXT_PRODUCER_ID_TAG, next_producer_id),
        )
        if producer_id != NO_PRODUCER_ID
    ]
    if client_version != TV_0:
        fields.append((_CLIENT_VERSION_TAG, _INT16.pack(client_version)))
    tagged = (encoded_unsigned(tag) + encoded_unsigned(len(field)) + field for tag, field in fields)
    return encoded_unsigned(len(fields)) + b"".join(tagged)


def decode_value(transactional_id: str, value: bytes) -> TransactionMetadata:
    """The metadata of a value; raises DamagedDataError, since a guess could commit the wrong transaction."""
    try:
        return _decoded(transactional_id, value)
    except (struct.error, IndexError, ValueError) as why:
        raise DamagedDataError(f"transaction log: value of {transactional_id!r} cannot be read: {why}") from why


def _decoded(transactional_id: str, value: bytes) -> TransactionMetadata:
    version, producer_id, epoch, timeout_ms, state = _HEAD.unpack_from(value)
    if version not in (0, _VALUE_VERSION):
        raise DamagedDataError(
            f"transaction log: value of {transactional_id!r} has version {version}, at most {_VALUE_VERSION} is known; "
            "it was written by a newer broker"
        )
    reader = MessageReader(value, _HEAD.size, compact=version == _VALUE_VERSION)
    partitions = frozenset(_decode_partitions(reader))
    updated_ms, started_ms = reader.unpack(_TIMES)
    tags = reader.tags()
    return TransactionMetadata(
        transactional_id,
        producer_id,
        epoch,
        timeout_ms,
        TransactionState(state),
        partitions,
        updated_ms,
        started_ms,
        previous_producer_id=int(_INT64.unpack(tags.get(_PREVIOUS_PRODUCER_ID_TAG, _NOBODY))[0]),
        next_producer_id=int(_INT64.unpack(tags.get(_NEXT_PRODUCER_ID_TAG, _NOBODY))[0]),
        client_version=int(_INT16.unpack(tags.get(_CLIENT_VERSION_TAG, _OLD))[0]),
    )


def _decode_partitions(reader: MessageReader) -> list[TopicPartition]:
    found = []
    for _ in range(max(reader.array_length(), 0)):
        topic = reader.string()
        found += [TopicPartition(topic, reader.int32()) for _ in range(reader.array_length())]
        reader.tags()  # none means anything here
    return found
