"""Write access rules as records, in the values of Kafka's `__cluster_metadata` (`AccessControlEntryRecord`).

Unlike Kafka's metadata log, which has snapshots, this one is compacted: the id of a rule is the key; a rule that was
removed is a record without value.
"""

from __future__ import annotations

import struct
from typing import Final
from uuid import UUID

from eosfw.errors import DamagedDataError
from eosfw_memory.server.coordinators.message_reader import MessageReader
from eosfw_memory.server.security.acl.acl_binding import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from eosfw_memory.storage.records.varints import compact_string, encoded_unsigned

_FRAME: Final = bytes((1, 18, 0))
"""The version of the frame, the kind of record, its version."""
_ID: Final = struct.Struct(">16s")
_INT8: Final = struct.Struct(">b")
_TWO: Final = struct.Struct(">bb")
_NO_TAGS: Final = encoded_unsigned(0)


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
            _NO_TAGS,
        )
    )


def decode_value(value: bytes) -> AclBinding:
    """The rule of a record; raise DamagedDataError."""
    if value[: len(_FRAME)] != _FRAME:
        raise DamagedDataError(f"a record of access rules begins with {value[: len(_FRAME)]!r}, not with {_FRAME!r}")
    reader = MessageReader(value, len(_FRAME), compact=True)
    try:
        reader.unpack(_ID)
        resource_type, name = ResourceType(reader.unpack(_INT8)[0]), reader.string()
        pattern_type, principal, host = PatternType(reader.unpack(_INT8)[0]), reader.string(), reader.string()
        operation, permission = reader.unpack(_TWO)
    except (struct.error, ValueError, IndexError) as why:
        raise DamagedDataError(f"an access rule cannot be read: {why}") from why
    return AclBinding(
        *(resource_type, name, pattern_type, principal, host),
        *(AclOperation(operation), AclPermissionType(permission)),
    )
