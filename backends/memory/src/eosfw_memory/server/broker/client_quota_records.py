"""Write quotas as records, in the values of Kafka's `__cluster_metadata` (`ClientQuotaRecord`).

As with access rules the log is compacted: whom a quota is for, and its name, are the key; one that was removed is a
record without value.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from eosfw_memory.server.coordinators.message_reader import MessageReader, metadata_record
from eosfw_memory.server.coordinators.message_writer import NO_TAGS
from eosfw_memory.server.quotas.client_quota_entity import Entity, sorted_parts
from eosfw_memory.storage.records.varints import compact_string, encoded_unsigned

_FRAME: Final = bytes((1, 14, 0))
"""The version of the frame, the kind of record, its version."""
_VALUE: Final = struct.Struct(">d?")


class ClientQuotaRecord(NamedTuple):
    """One quota of an entity."""

    entity: Entity
    key: str
    value: float


def encode_key(entity: Entity, key: str) -> bytes:
    """The key of a record, which is the beginning of its value."""
    names = sorted_parts(entity)
    parts = (compact_string(kind) + compact_string(name) + NO_TAGS for kind, name in names)
    return b"".join((_FRAME, encoded_unsigned(len(names) + 1), *parts, compact_string(key)))


def encode_value(record: ClientQuotaRecord) -> bytes:
    """The value of a record."""
    return encode_key(record.entity, record.key) + _VALUE.pack(record.value, False) + NO_TAGS


def is_quota_key(key: bytes) -> bool:
    """Whether the record of a key is about a quota."""
    return key.startswith(_FRAME) and len(key) > 16


def decode_value(value: bytes) -> ClientQuotaRecord:
    """The quota of a record; raise DamagedDataError."""
    with metadata_record(value, _FRAME, "quotas") as reader:
        entity: Entity = frozenset(_entity(reader) for _ in range(reader.array_length()))
        return ClientQuotaRecord(entity, reader.string(), reader.unpack(_VALUE)[0])


def _entity(reader: MessageReader) -> tuple[str, str | None]:
    pair = reader.string(), reader.nullable_string()
    reader.tags()
    return pair
