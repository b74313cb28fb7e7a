"""Build the control batch that ends a producer's transaction in one partition. Kafka's `EndTransactionMarker`."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, NamedTuple

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.storage.records.batch import (
    CONTROL,
    HEADER,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    Buffer,
    assemble_lone,
)
from eosfw_memory.storage.records.codec import decode_records
from eosfw_memory.storage.records.transaction_result import TransactionResult

_TYPE: Final = {TransactionResult.ABORT: 0, TransactionResult.COMMIT: 1}
_RESULT_OF: Final = {number: result for result, number in _TYPE.items()}
# Version and type; version and coordinator epoch.
_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_VERSION: Final = 0
_ATTRIBUTES: Final = TRANSACTIONAL | CONTROL
# As zigzag: 16 bytes follow, attributes 0, both deltas 0, a key of 4 bytes; a value of 6 bytes; no headers.
_BEFORE_KEY: Final = b"\x20\x00\x00\x00\x08"
_BEFORE_VALUE: Final = b"\x0c"
_BEHIND: Final = b"\x00"
_RECORD: Final = struct.Struct(">5shhchic")
"""All of these: the record of a marker as Kafka and this broker write it."""


class Marker(NamedTuple):
    """The content of a marker: whose transaction ends, how it ends, and the epoch of the coordinator."""

    producer: ProducerIdAndEpoch
    result: TransactionResult
    coordinator_epoch: int


def marker(producer: ProducerIdAndEpoch, result: TransactionResult, coordinator_epoch: int, now_ms: int) -> bytes:
    """The bytes of a marker, equal to Kafka's."""
    record = _record(result, coordinator_epoch)
    return assemble_lone(record, now_ms, producer, NO_SEQUENCE, _ATTRIBUTES)


@lru_cache
def _record(result: TransactionResult, coordinator_epoch: int) -> bytes:
    key, value = _KEY.pack(_VERSION, _TYPE[result]), _VALUE.pack(_VERSION, coordinator_epoch)
    return b"".join((_BEFORE_KEY, key, _BEFORE_VALUE, value, _BEHIND))


def ending_of(batch: Buffer, header: BatchHeader) -> tuple[TransactionResult, int] | None:
    """How a control batch ends its producer's transaction, with the coordinator's epoch; None if it ends nothing.

    Raises CorruptMessageError.
    """
    # A start after a crash reads every marker of the log, and in this form nearly all of them.
    if header.records == 1 and len(batch) == HEADER.size + _RECORD.size and not header.compression:
        start, _, number, middle, _, epoch, end = _RECORD.unpack_from(batch, HEADER.size)
        if number in _RESULT_OF and (start, middle, end) == (_BEFORE_KEY, _BEFORE_VALUE, _BEHIND):
            return _RESULT_OF[number], epoch
    columns = decode_records(batch, header)
    result = result_of(columns.keys[0] or b"") if columns.keys else None
    return None if result is None else (result, coordinator_epoch_of(columns.values[0] or b""))


def result_of(key: Buffer) -> TransactionResult | None:
    """What a control record's key says; None for a kind that ends no transaction."""
    return _RESULT_OF.get(_KEY.unpack_from(key)[1]) if len(key) >= _KEY.size else None


def coordinator_epoch_of(value: Buffer) -> int:
    """The epoch of the coordinator that wrote a marker, from its value; raises CorruptMessageError."""
    if len(value) < _VALUE.size:
        raise CorruptMessageError(f"the value of a marker has {len(value)} bytes, {_VALUE.size} are due")
    epoch: int = _VALUE.unpack_from(value)[1]
    return epoch
