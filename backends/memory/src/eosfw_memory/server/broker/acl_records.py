"""Write access rules as records, in the values of Kafka's `__cluster_metadata` (`AccessControlEntryRecord`).

Unlike Kafka's metadata log, which has snapshots, this one is compacted: the id of a rule is the key; a rule that was
removed is a record without value.
"""

from __future__ import annotations

import struct
from typing import Final
from uuid import UUID

from eosfw_memory.server.coordinators.message_reader import metadata_record
from eosfw_memory.server.coordinators.message_writer import NO_TAGS
from eosfw_memory.server.security.acl.acl_binding import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from eosfw_memory.storage.records.varints import compact_string

_FRAME: Final = bytes((1, 18, 0))
"""The version of the frame, the kind of record, its version."""
_ID: Final = struct.Struct(">16s")
_INT8: Final = struct.Struct(">b")
_TWO: Final = struct.Struct(">bb")


def encode_value(acl_id: UUID, acl: AclBinding) -> bytes:
    """The value of the record of a rule."""
    return b"".join(
        (
            _FRAME,
            acl_id.bytes,
            _INT8.pack(acl.resource_type),
            compact_string(acl.resource_name),
            _INT8.pack(acl.pattern_type),
            compact_string(acl.principal),
            compact_string(acl.host),
            _TWO.pack(acl.operation, acl.permission_type),
            NO_TAGS,
        )
    )


def decode_value(value: bytes) -> AclBinding:
    """The rule of a record; raise DamagedDataError."""
    with metadata_record(value, _FRAME, "access rules") as reader:
        reader.unpack(_ID)
        resource_type, name = ResourceType(reader.unpack(_INT8)[0]), reader.string()
        pattern_type, principal, host = PatternType(reader.unpack(_INT8)[0]), reader.string(), reader.string()
        operation, permission = reader.unpack(_TWO)
    return AclBinding(
        *(resource_type, name, pattern_type, principal, host),
        *(AclOperation(operation), AclPermissionType(permission)),
    )
