"""Decode the records of many batches into Arrow columns, without a Python object for each key and value.

Only the sizes are read one by one, since each tells where the next record begins. Then numpy reads each field of all
records at once, and Arrow copies keys and values out of the bytes of the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from eosfw.records import Headers
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.storage.records.batch import BatchHeader, Buffer, TimestampType
from eosfw_memory.storage.records.codec import read_headers
from eosfw_memory.storage.records.varints import read_unsigned

_LONGEST: Final = 10
"""Bytes of a varint of 64 bits."""


@dataclass(frozen=True, slots=True)
class ArrowColumns:
    """Records as columns of one length; offsets and timestamps are numpy arrays, `headers` is None unless requested."""

    offsets: Any
    timestamps: Any
    keys: pa.Array
    values: pa.Array
    headers: Sequence[Headers] | None

    def __len__(self) -> int:
        return len(self.offsets)

    def between(self, start: int, end: int) -> ArrowColumns:
        """The records from one offset up to but not including another."""
        low, high = np.searchsorted(self.offsets, (start, end))
        part = slice(int(low), int(high))
        headers = None if self.headers is None else self.headers[part]
        return ArrowColumns(self.offsets[part], self.timestamps[part], self.keys[part], self.values[part], headers)


def decode_to_arrow(batches: Sequence[tuple[BatchHeader, Buffer]], *, headers: bool) -> ArrowColumns:
    """Decode batches, each given as its header and the uncompressed bytes behind it, in all less than 2 GiB.

    Raises CorruptMessageError for damage; headers that are not requested are not looked at.
    """
    data = b"".join(records for _, records in batches)
    starts = np.array(_record_starts(data, batches), np.int64)
    ends = np.append(starts[1:], len(data))
    fields = _Fields(data, starts)
    try:
        fields.read_varints()  # the size
        fields.at = fields.at + 1  # the attributes, which mean nothing yet
        time_deltas, offset_deltas = fields.read_varints(), fields.read_varints()
        keys, values = fields.read_bytes(), fields.read_bytes()
        with_headers = fields.peek() != 0
    except IndexError:
        raise CorruptMessageError("a record reaches beyond its batch") from None
    # Behind the value a record has at least the number of its headers, and without headers nothing else.
    left = ends - fields.at
    if ((left < 1) | ((left > 1) & ~with_headers)).any():
        raise CorruptMessageError("a record does not end where its size says")
    return ArrowColumns(
        _for_records(batches, lambda header: header.base_offset) + offset_deltas,
        _timestamps(batches, time_deltas),
        keys,
        values,
        _headers(data, fields.at, ends, with_headers) if headers else None,
    )


def _record_starts(data: bytes, batches: Sequence[tuple[BatchHeader, Buffer]]) -> list[int]:
    starts: list[int] = []
    add = starts.append
    at = end = 0
    for header, records in batches:
        end += len(records)
        try:
            # Flat, as in `codec`: a call for each record would cost more than all the rest.
            for _ in range(header.records):
                add(at)
                if (raw := data[at]) < 0x80:
                    at += 1
                elif (high := data[at + 1]) < 0x80:
                    raw, at = raw - 0x80 + (high << 7), at + 2
                else:
                    raw, at = read_unsigned(data, at)
                at += raw >> 1
        except IndexError:
            raise CorruptMessageError("a record reaches beyond its batch") from None
        if at != end:
            raise CorruptMessageError(f"the records of a batch end at byte {at} where byte {end} was declared")
    return starts


class _Fields:
    """Reads the fields of all records in turn, each of all records at once; IndexError beyond the data."""

    def __init__(self, data: bytes, starts: Any) -> None:
        self._data = data
        self._bytes = np.frombuffer(data, np.uint8)
        self.at = starts
        """Where the next field of each record begins."""

    def peek(self) -> Any:
        """The next byte of each record."""
        return self._bytes[self.at]

    def read_varints(self) -> Any:
        """The next field of each record as a signed number."""
        byte = self.peek()
        raw = (byte & 0x7F).astype(np.uint64)
        self.at = self.at + 1
        longer = np.flatnonzero(byte & 0x80)
        for number in range(1, _LONGEST):
            if not len(longer):
                break
            byte = self._bytes[self.at[longer]]
            raw[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * number)
            self.at[longer] += 1
            longer = longer[byte & 0x80 != 0]
        if len(longer):
            raise CorruptMessageError(f"a number takes more than {_LONGEST} bytes")
        return (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)

    def read_bytes(self) -> pa.Array:
        """The next field of each record as bytes behind their length; a negative length stands for null."""
        lengths = self.read_varints()
        if (lengths > len(self._data)).any():  # the sum below could be too large for its type
            raise IndexError
        start = self.at
        self.at = start + np.maximum(lengths, 0)
        nulls = lengths < 0
        if nulls.all():
            return pa.nulls(len(lengths), pa.binary())
        if self.at[-1] > len(self._data):
            raise IndexError
        # Every other element of this array is a key or value, and those between are what lies between them.
        edges = np.empty(2 * len(lengths) + 1, np.int32)
        edges[:-1:2], edges[1::2], edges[-1] = start, self.at, len(self._data)
        buffers = [None, pa.py_buffer(edges), pa.py_buffer(self._data)]
        wanted = np.arange(0, 2 * len(lengths), 2, dtype=np.int32)
        elements = pa.array(wanted, mask=nulls if nulls.any() else None)
        return pa.Array.from_buffers(pa.binary(), 2 * len(lengths), buffers).take(elements)


def _for_records(batches: Sequence[tuple[BatchHeader, Buffer]], number: Callable[[BatchHeader], int]) -> Any:
    """A number of each batch, once for each of its records."""
    numbers = np.array([number(header) for header, _ in batches], np.int64)
    return np.repeat(numbers, [header.records for header, _ in batches])


def _timestamps(batches: Sequence[tuple[BatchHeader, Buffer]], deltas: Any) -> Any:
    if batches[0][0].timestamp_type is TimestampType.LOG_APPEND_TIME:
        return _for_records(batches, lambda header: header.max_timestamp)
    return _for_records(batches, lambda header: header.base_timestamp) + deltas


def _headers(data: bytes, at: Any, ends: Any, with_headers: Any) -> list[Headers]:
    found: list[Headers] = [()] * len(at)
    some = np.flatnonzero(with_headers)
    for number, start, end in zip(some.tolist(), at[some].tolist(), ends[some].tolist(), strict=True):
        try:
            found[number], behind = read_headers(data, start)
        except IndexError:
            raise CorruptMessageError("a record reaches beyond its batch") from None
        if behind != end:
            raise CorruptMessageError(f"a record ends at byte {behind} where byte {end} was declared")
    return found
