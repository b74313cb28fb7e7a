"""Encode records into a batch, decode a batch into columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from eosfw.ids import ProducerIdAndEpoch
from eosfw.records import Headers
from eosfw_memory.log.batch import (
    HEADER,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    Buffer,
    TimestampType,
    assemble,
    read_header,
)
from eosfw_memory.log.compression import MAX_UNPACKED, unpack
from eosfw_memory.log.errors import CorruptMessageError
from eosfw_memory.log.varints import VARINT, read

NO_PRODUCER: Final = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_EPOCH)


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


def encode_batch(
    keys: Sequence[bytes | None] | None,
    values: Sequence[bytes | None],
    timestamps: int | Sequence[int],
    *,
    headers: Sequence[Headers] | None = None,
    producer: ProducerIdAndEpoch = NO_PRODUCER,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
) -> bytes:
    """One record batch of at least one record; a single timestamp counts for all."""
    records, bounds = _records(values, timestamps, keys, headers)
    return assemble(
        records,
        len(values),
        bounds,
        producer,
        base_sequence=base_sequence,
        transactional=transactional,
    )


def _records(
    values: Sequence[bytes | None],
    timestamps: int | Sequence[int],
    keys: Sequence[bytes | None] | None,
    headers: Sequence[Headers] | None,
) -> tuple[bytes, tuple[int, int]]:
    if isinstance(timestamps, int):
        timestamps = [timestamps] * len(values)
    first = timestamps[0]
    pieces: list[bytes] = []
    nothing: Headers = ()
    columns = zip(values, timestamps, keys or repeat(None), headers or repeat(nothing), strict=False)
    for offset, (value, timestamp, key, pairs) in enumerate(columns):
        body = b"".join(
            (b"\0", VARINT[timestamp - first], VARINT[offset], _nullable(key), _nullable(value), _headers(pairs))
        )
        pieces += VARINT[len(body)], body
    return b"".join(pieces), (first, max(timestamps))


def _nullable(data: bytes | None) -> bytes:
    return VARINT[-1] if data is None else VARINT[len(data)] + data


def _headers(pairs: Headers) -> bytes:
    parts = [VARINT[len(pairs)]]
    for name, value in pairs:
        parts += _nullable(name.encode()), _nullable(value)
    return b"".join(parts)


def decode_records(batch: Buffer, max_unpacked: int = MAX_UNPACKED) -> RecordColumns:
    """The records of one whole batch, its checksum checked."""
    header = read_header(batch)
    data = bytes(memoryview(batch)[HEADER.size : header.size])
    if header.compression:
        data = unpack(header.compression, data, max_unpacked)
    offsets: list[int] = []
    deltas: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    headers: list[Headers] = []
    position = 0
    try:
        for _ in range(header.records):
            size, position = read(data, position)
            end = position + size
            delta, position = read(data, position + 1)
            deltas.append(delta)
            offset, position = read(data, position)
            offsets.append(header.base_offset + offset)
            for column in (keys, values):
                length, position = read(data, position)
                column.append(None if length < 0 else data[position : position + length])
                position += max(length, 0)
            pairs: list[tuple[str, bytes | None]] = []
            count, position = read(data, position)
            for _ in range(count):
                length, position = read(data, position)
                name = data[position : position + length].decode()
                position += length
                length, position = read(data, position)
                pairs.append((name, None if length < 0 else data[position : position + length]))
                position += max(length, 0)
            headers.append(tuple(pairs))
            if position != end or end > len(data):
                raise CorruptMessageError("a record is not as long as it declares")
    except IndexError:
        raise CorruptMessageError("the records of a batch end in the middle of one") from None
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        timestamps = [header.max_timestamp] * header.records
    else:
        timestamps = [header.base_timestamp + delta for delta in deltas]
    return RecordColumns(offsets, timestamps, keys, values, headers if any(headers) else None)
