"""Write the state of both coordinators as few records, which are replayed in place of the logs."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from eosfw_memory.server.coordinators.groups.offsets_topic import GroupLogRecord
from eosfw_memory.server.coordinators.transaction_log_records import decode_key, decode_value, encode_key, encode_value
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata

# Partition, position, producer id, size of the key, size of the value.
_CHANGE: Final = struct.Struct(">iqqII")
_COUNT: Final = struct.Struct(">I")
_NOBODY: Final = -1

TransactionChange: TypeAlias = tuple[str, TransactionMetadata | None]


@dataclass(frozen=True, slots=True)
class CoordinatorSnapshot:
    """The records that lead to a state; None where the logs have to be read."""

    transactions: list[TransactionChange] | None = None
    groups: list[GroupLogRecord] | None = None


def encode(transactions: Iterable[TransactionMetadata], groups: Iterable[GroupLogRecord]) -> bytes:
    """The state of both coordinators."""
    # Transactions take the frame of the group records; of its fields they need only key and value.
    records = (
        GroupLogRecord(0, 0, None, encode_key(each.transactional_id), encode_value(each)) for each in transactions
    )
    return _encoded(records) + _encoded(groups)


def decode(state: bytes | None) -> CoordinatorSnapshot:
    """The records of an encoded state, or none."""
    if state is None:
        return CoordinatorSnapshot()
    records, behind = _decoded(state, 0)
    groups, _ = _decoded(state, behind)
    values = {str(decode_key(each.key)): each.value or b"" for each in records}
    return CoordinatorSnapshot([(name, decode_value(name, value)) for name, value in values.items()], groups)


def _encoded(changes: Iterable[GroupLogRecord]) -> bytes:
    pieces = [b""]
    for partition, position, producer_id, key, value in changes:
        writer = _NOBODY if producer_id is None else producer_id
        pieces += _CHANGE.pack(partition, position, writer, len(key), len(value or b"")), key, value or b""
    pieces[0] = _COUNT.pack(len(pieces) // 3)
    return b"".join(pieces)


def _decoded(state: bytes, at: int) -> tuple[list[GroupLogRecord], int]:
    changes = []
    (count,) = _COUNT.unpack_from(state, at)
    at += _COUNT.size
    for _ in range(count):
        partition, position, writer, key_size, value_size = _CHANGE.unpack_from(state, at)
        middle = at + _CHANGE.size + key_size
        key, value = state[at + _CHANGE.size : middle], state[middle : middle + value_size]
        changes.append(GroupLogRecord(partition, position, None if writer == _NOBODY else writer, key, value))
        at = middle + value_size
    return changes, at
