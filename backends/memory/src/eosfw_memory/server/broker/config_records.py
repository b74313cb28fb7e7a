"""Write properties of groups as records, in the values of Kafka's `__cluster_metadata` (`ConfigRecord`).

As with quotas the log is compacted: the group and the name of the property are the key; one that was removed is a
record without value.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from eosfw_memory.server.coordinators.message_reader import metadata_record
from eosfw_memory.server.coordinators.message_writer import NO_TAGS
from eosfw_memory.storage.records.varints import compact_string

_FRAME: Final = bytes((1, 4, 0))
"""The version of the frame, the kind of record, its version."""
_GROUP: Final = bytes((32,))
"""The type of resource that a property belongs to."""


class ConfigRecord(NamedTuple):
    """One property of a group."""

    group_id: str
    name: str
    value: str


def encode_key(group_id: str, name: str) -> bytes:
    """The key of a record, which is the beginning of its value."""
    return b"".join((_FRAME, _GROUP, compact_string(group_id), compact_string(name)))


def encode_value(record: ConfigRecord) -> bytes:
    """The value of a record."""
    return encode_key(record.group_id, record.name) + compact_string(record.value) + NO_TAGS


def is_config_key(key: bytes) -> bool:
    """Whether the record of a key is about a property."""
    return key.startswith(_FRAME) and len(key) > 16


def decode_value(value: bytes) -> ConfigRecord:
    """The property of a record; raise DamagedDataError."""
    with metadata_record(value, _FRAME + _GROUP, "properties of groups") as reader:
        return ConfigRecord(reader.string(), reader.string(), reader.string())
