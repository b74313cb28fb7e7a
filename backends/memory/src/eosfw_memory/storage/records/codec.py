"""Encode records into a batch, or decode a batch, by column.

A record is a row of varints around its key, value and headers (KIP-98's message format). Small numbers dominate, so
writing takes them from a table, while reading handles numbers of one or two bytes in place: a call for each would cost
more than all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import add
from typing import Final

from eosfw.ids import ProducerIdAndEpoch
from eosfw.records import Headers
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.storage.records.batch import (
    HEADER,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    Buffer,
    TimestampType,
    assemble,
    assemble_lone,
    read_header,
)
from eosfw_memory.storage.records.compression import MAX_UNPACKED, unpack
from eosfw_memory.storage.records.headers import NO_HEADERS, NULL, encoded_alone, encoded_headers
from eosfw_memory.storage.records.uniform_records import read_uniform_records
from eosfw_memory.storage.records.varints import VARINT, read, read_unsigned

NO_PRODUCER: Final = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_EPOCH)
_ATTRIBUTES: Final = b"\0"
_TABLE: Final = 1024
_FEW: Final = 8
"""Records for which a look whether they are alike does not pay."""
_TIMES: Final = [_ATTRIBUTES + VARINT[delta] for delta in range(_TABLE)]
_STARTS: Final = [_TIMES[0] + VARINT[offset] for offset in range(_TABLE)]
"""How a record begins that has its batch's first timestamp."""


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The records of one batch, as columns of one length; `headers` is None when no record has any."""

    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers] | None

    def __len__(self) -> int:
        return len(self.offsets)


# --- writing


def encode_batch(
    keys: Sequence[bytes | None] | None,
    values: Sequence[bytes | None],
    timestamps: Sequence[int] | int,
    *,
    headers: Sequence[Headers] | None = None,
    producer: ProducerIdAndEpoch = NO_PRODUCER,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
) -> bytes:
    """Encode at least one record as an uncompressed batch at offset 0. One timestamp serves all records."""
    starts, bounds = _starts(timestamps, len(values))
    if keys is None and None not in values:
        records = _encoded_values(starts, values, None if headers is None else list(encoded_headers(headers)))
    else:
        records = _encoded_records(starts, keys, values, headers)
    return assemble(records, len(values), bounds, producer, base_sequence=base_sequence, transactional=transactional)


def encode_record(
    key: bytes | None,
    value: bytes | None,
    timestamp: int,
    headers: Headers = (),
    *,
    producer: ProducerIdAndEpoch = NO_PRODUCER,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
) -> bytes:
    """Encode a batch of one record, to the bytes that `encode_batch` gives, at a lower cost."""
    key_text = NULL if key is None else VARINT[len(key)] + key
    value_text = NULL if value is None else VARINT[len(value)] + value
    record = b"".join((_STARTS[0], key_text, value_text, encoded_alone(headers) if headers else NO_HEADERS))
    attributes = TRANSACTIONAL if transactional else 0
    return assemble_lone(VARINT[len(record)] + record, timestamp, producer, base_sequence, attributes)


def _starts(timestamps: Sequence[int] | int, records: int) -> tuple[Sequence[bytes], tuple[int, int]]:
    """The bytes of each record between its size and its key, with the first and the largest timestamp."""
    if isinstance(timestamps, int):
        return record_starts(records), (timestamps, timestamps)
    first = timestamps[0]
    deltas = [time - first for time in timestamps]
    largest = max(deltas)
    if min(deltas) >= 0 and largest < _TABLE:
        starts = [_TIMES[delta] + VARINT[offset] for offset, delta in enumerate(deltas)]
    else:
        starts = [_ATTRIBUTES + VARINT[delta] + VARINT[offset] for offset, delta in enumerate(deltas)]
    return starts, (first, first + largest)


def record_starts(records: int) -> Sequence[bytes]:
    """The bytes between size and key of each of `records` records that have one timestamp."""
    starts = _STARTS[:records]
    return starts if records <= _TABLE else starts + [_TIMES[0] + VARINT[offset] for offset in range(_TABLE, records)]


def _encoded_values(starts: Sequence[bytes], values: Sequence[bytes | None], tails: Sequence[bytes] | None) -> bytes:
    """What `_encoded_records` gives for values without keys, in loops that run in C."""
    lengths = list(map(len, values))  # type: ignore[arg-type]
    between = {length: NULL + VARINT[length] for length in set(lengths)}
    behind = {length: length + len(text) for length, text in between.items()}
    ends = repeat(NO_HEADERS, len(values)) if tails is None else tails
    tail_sizes = repeat(len(NO_HEADERS)) if tails is None else map(len, tails)
    value_sizes = map(behind.__getitem__, lengths)
    head_sizes = map(add, map(len, starts), value_sizes)
    sizes = map(add, head_sizes, tail_sizes)
    heads, middles = map(VARINT.__getitem__, sizes), map(between.__getitem__, lengths)
    columns = zip(heads, starts, middles, values, ends, strict=True)
    return b"".join(chain.from_iterable(columns))  # type: ignore[arg-type]


def _encoded_records(
    starts: Sequence[bytes],
    keys: Sequence[bytes | None] | None,
    values: Sequence[bytes | None],
    headers: Sequence[Headers] | None,
) -> bytes:
    pieces: list[bytes] = []
    every_key = repeat(None, len(values)) if keys is None else keys
    tails = repeat(NO_HEADERS, len(values)) if headers is None else encoded_headers(headers)
    for start, key, value, tail in zip(starts, every_key, values, tails, strict=True):
        key_size, key_bytes = (NULL, b"") if key is None else (VARINT[len(key)], key)
        value_size, value_bytes = (NULL, b"") if value is None else (VARINT[len(value)], value)
        size = len(start) + len(key_size) + len(key_bytes) + len(value_size) + len(value_bytes) + len(tail)
        pieces += VARINT[size], start, key_size, key_bytes, value_size, value_bytes, tail
    return b"".join(pieces)


# --- reading


def decode_records(
    batch: Buffer, header: BatchHeader | None = None, *, max_unpacked: int = MAX_UNPACKED
) -> RecordColumns:
    """Decode one whole batch; `header` is what `read_header` gave for it. Raises CorruptMessageError for damage."""
    if header is None:
        header = read_header(batch)
    # As bytes, so that the slices which become keys and values are bytes too, and not views of the whole batch.
    data = bytes(record_bytes(batch, header, max_unpacked))
    if header.records > _FEW and (alike := _alike(data, header)) is not None:
        return alike
    raw = _Raw()
    try:
        end = _read_records(data, header.records, raw)
    except IndexError:
        raise CorruptMessageError("a record reaches beyond its batch") from None
    if end != len(data):
        raise CorruptMessageError(f"{len(data) - end} bytes follow the last record of a batch")
    return _columns(raw, header)


def record_bytes(batch: Buffer, header: BatchHeader, max_unpacked: int = MAX_UNPACKED) -> bytes | memoryview:
    """The bytes of the records of a batch, without their compression."""
    records = memoryview(batch)[HEADER.size : header.size]
    return unpack(header.compression, bytes(records), max_unpacked) if header.compression else records


def _alike(data: bytes, header: BatchHeader) -> RecordColumns | None:
    """The columns of records that are like the first, if they are."""
    first = _Raw()
    try:
        _read_records(data, 1, first)
    except (IndexError, CorruptMessageError):
        return None
    columns = read_uniform_records(data, header.records, first.headers.get(0, ()))
    if columns is None:
        return None
    count, base = header.records, header.base_offset
    append_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    time = header.max_timestamp if append_time else header.base_timestamp
    return RecordColumns(list(range(base, base + count)), [time] * count, [None] * count, *columns)


class _Raw:
    """The columns of a batch as they are read, numbers still in zigzag."""

    __slots__ = ("deltas", "headers", "keys", "offsets", "values")

    def __init__(self) -> None:
        self.deltas: list[int] = []
        self.offsets: list[int] = []
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.headers: dict[int, Headers] = {}


def _columns(raw: _Raw, header: BatchHeader) -> RecordColumns:
    """Add the batch's place and time."""
    first, base = header.base_timestamp, header.base_offset
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        times = [header.max_timestamp] * len(raw.deltas)
    else:
        times = [first + ((delta >> 1) ^ -(delta & 1)) for delta in raw.deltas]
    offsets = [base + ((offset >> 1) ^ -(offset & 1)) for offset in raw.offsets]
    headers = [raw.headers.get(at, ()) for at in range(len(offsets))] if raw.headers else None
    return RecordColumns(offsets, times, raw.keys, raw.values, headers)


def _read_records(data: bytes, records: int, into: _Raw) -> int:  # noqa: C901, PLR0912
    """Read records from the start of `data`; give the position behind them. Flat on purpose, see above."""
    at = 0
    add_delta, add_offset = into.deltas.append, into.offsets.append
    add_key, add_value = into.keys.append, into.values.append
    for number in range(records):
        if (raw := data[at]) < 0x80:
            at += 1
        elif (high := data[at + 1]) < 0x80:
            raw, at = raw - 0x80 + (high << 7), at + 2
        else:
            raw, at = read_unsigned(data, at)
        end = at + (raw >> 1)
        if (raw := data[at + 1]) < 0x80:  # behind the attributes, which mean nothing yet
            at += 2
        elif (high := data[at + 2]) < 0x80:
            raw, at = raw - 0x80 + (high << 7), at + 3
        else:
            raw, at = read_unsigned(data, at + 1)
        add_delta(raw)
        if (raw := data[at]) < 0x80:
            at += 1
        elif (high := data[at + 1]) < 0x80:
            raw, at = raw - 0x80 + (high << 7), at + 2
        else:
            raw, at = read_unsigned(data, at)
        add_offset(raw)
        if (raw := data[at]) < 0x80:
            at += 1
        elif (high := data[at + 1]) < 0x80:
            raw, at = raw - 0x80 + (high << 7), at + 2
        else:
            raw, at = read_unsigned(data, at)
        # A slice beyond the end is short without an error, but then reading the next number raises IndexError.
        add_key(None if raw & 1 else data[at : (at := at + (raw >> 1))])  # a negative length stands for null
        if (raw := data[at]) < 0x80:
            at += 1
        elif (high := data[at + 1]) < 0x80:
            raw, at = raw - 0x80 + (high << 7), at + 2
        else:
            raw, at = read_unsigned(data, at)
        add_value(None if raw & 1 else data[at : (at := at + (raw >> 1))])
        if data[at] == 0:
            at += 1
        else:
            into.headers[number], at = read_headers(data, at)
        if at != end:
            raise CorruptMessageError(f"a record ends at byte {at} where byte {end} was declared")
    return at


def read_headers(data: bytes, at: int) -> tuple[Headers, int]:
    """The headers at a position, with the position behind them; IndexError at the end of the data."""
    pairs: list[tuple[str, bytes | None]] = []
    number, at = read(data, at)
    if number < 0:
        raise CorruptMessageError(f"a record declares {number} headers")
    for _ in range(number):
        name, at = _read_bytes(data, at)
        value, at = _read_bytes(data, at)
        if name is None:
            raise CorruptMessageError("a header has no name")
        pairs.append((name.decode(errors="replace"), value))
    return tuple(pairs), at


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = read(data, at)
    return (None, at) if length < 0 else (data[at : at + length], at + length)
