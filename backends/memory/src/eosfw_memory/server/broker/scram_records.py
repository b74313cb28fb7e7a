"""Write credentials for SCRAM as records, in the values of Kafka's `__cluster_metadata` (`UserScramCredentialRecord`).

As with access rules the log is compacted: user and mechanism are the key; a credential that was removed is a record
without value.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from eosfw_memory.server.coordinators.message_reader import metadata_record
from eosfw_memory.server.coordinators.message_writer import NO_TAGS
from eosfw_memory.server.security.scram_credential import ScramCredential, ScramMechanism
from eosfw_memory.storage.records.varints import compact_bytes, compact_string

_FRAME: Final = bytes((1, 11, 0))
"""The version of the frame, the kind of record, its version."""
_INT8: Final = struct.Struct(">b")
_INT32: Final = struct.Struct(">i")


class ScramCredentialKey(NamedTuple):
    """Whose credential for which mechanism. Kafka's `ScramCredentialKey`."""

    user: str
    mechanism: ScramMechanism


def encode_key(whose: ScramCredentialKey) -> bytes:
    """The key of a record; the mechanism has its name there, so that no key is as short as those of access rules."""
    return _FRAME + compact_string(whose.mechanism.mechanism_name) + compact_string(whose.user)


def encode_value(whose: ScramCredentialKey, credential: ScramCredential) -> bytes:
    """The value of a record."""
    return b"".join(
        (
            _FRAME,
            compact_string(whose.user),
            _INT8.pack(whose.mechanism),
            *map(compact_bytes, (credential.salt, credential.stored_key, credential.server_key)),
            _INT32.pack(credential.iterations),
            NO_TAGS,
        )
    )


def is_scram_key(key: bytes) -> bool:
    """Whether the record of a key is about a credential."""
    return key.startswith(_FRAME) and len(key) > 16


def decode_value(value: bytes) -> tuple[ScramCredentialKey, ScramCredential]:
    """The credential of a record; raise DamagedDataError."""
    with metadata_record(value, _FRAME, "credentials") as reader:
        whose = ScramCredentialKey(reader.string(), ScramMechanism(reader.unpack(_INT8)[0]))
        salt, stored_key, server_key = reader.binary(), reader.binary(), reader.binary()
        return whose, ScramCredential(salt, stored_key, server_key, reader.int32())
