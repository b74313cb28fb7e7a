"""Write the index of a segment as bytes: positions of batches, leader epochs, aborted transactions that end in it.

The index of a growing segment has several parts; each covers only the batches behind those before it.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from typing import Final

from eosfw_memory.storage.log.leader_epochs import NO_LEADER, EpochStart
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.log.transaction_index import AbortedTxn, TransactionIndex

KIND: Final = b"EOSX"
# Whether offsets are missing, the number of the first batch; how many batches, leader epochs, aborted transactions.
_HEAD = struct.Struct(">?IIII")
# The fields of `EpochStart`, then those of `AbortedTxn`.
_EPOCH = struct.Struct(">iq")
_ENTRY = struct.Struct(">qqqq")


def encode_index(segment: Segment, aborted: TransactionIndex, since: int = 0) -> bytes:
    """The places of the batches from number `since` on; of the aborted transactions those that end in these."""
    begins = segment.base_offsets[since] if 0 < since < len(segment) else segment.base_offset
    entries = aborted.ended_in(begins, segment.end_offset)
    columns = (segment.base_offsets[since:], segment.ends[since:], segment.newest[since:])
    return b"".join(
        (
            _HEAD.pack(segment.sparse, since, len(segment) - since, len(segment.epochs), len(entries)),
            *map(_big_endian, columns),
            *(_EPOCH.pack(*start) for start in segment.epochs),
            *(_ENTRY.pack(*entry) for entry in entries),
        )
    )


def decode_index(body: memoryview, segment: Segment, end_offset: int) -> list[AbortedTxn] | None:
    """Add a part to a segment; give its aborted transactions, None when the bytes make no sense, or not behind it."""
    if len(body) < _HEAD.size:
        return None
    sparse, since, batches, epochs, aborted = _HEAD.unpack_from(body)
    width = 8 * batches
    led = _HEAD.size + 3 * width
    behind = led + epochs * _EPOCH.size
    if len(body) != behind + aborted * _ENTRY.size or since != len(segment):
        return None
    starts = (_HEAD.size + column * width for column in range(3))
    columns = (segment.base_offsets, segment.ends, segment.newest)
    for column, at in zip(columns, starts, strict=True):
        column.extend(_numbers(body[at : at + width]))
    segment.sparse, segment.end_offset = sparse, end_offset
    if batches:
        segment.size, segment.max_timestamp = segment.ends[-1], segment.newest[-1]
    segment.epochs = [EpochStart._make(_EPOCH.unpack_from(body, at)) for at in range(led, behind, _EPOCH.size)]
    segment.leader_epoch = segment.epochs[-1].epoch if epochs else NO_LEADER
    return [AbortedTxn._make(_ENTRY.unpack_from(body, at)) for at in range(behind, len(body), _ENTRY.size)]


def _big_endian(numbers: array[int]) -> bytes:
    return _swapped(array("q", numbers)).tobytes()


def _numbers(data: Sequence[int] | memoryview) -> array[int]:
    return _swapped(array("q", bytes(data)))


def _swapped(numbers: array[int]) -> array[int]:
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers
