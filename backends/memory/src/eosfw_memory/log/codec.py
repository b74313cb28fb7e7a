"""Encode and decode the records of a batch by column.

A record is a row of varints around its key, value and headers (KIP-98's message format); small numbers dominate, so
they come from a table.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from eosfw.ids import ProducerIdAndEpoch
from eosfw.records import Headers

from eosfw_memory.codes import Code
from eosfw_memory.log.batch import HEADER, NO_SEQUENCE, TRANSACTIONAL, BatchHeader, assemble, read_header
from eosfw_memory.log.errors import LogError

MAX_DECOMPRESSED = 64 * 1024 * 1024
"""Bytes that one batch may unfold to."""

_GZIP = 1
_CODECS = {_GZIP: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_MAX_VARINT = 10
_NULL = b"\x01"
_NO_HEADERS = b"\x00"


class Columns(NamedTuple):
    """The records of one batch, as columns of one length."""

    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[Headers]


def varint(number: int) -> bytes:
    """A signed number in zigzag, seven bits to a byte."""
    folded = number << 1 if number >= 0 else ((-number) << 1) - 1
    out = bytearray()
    while folded > 0x7F:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    out.append(folded)
    return bytes(out)


_TABLE = [varint(n) for n in range(4096)]


def _varint(number: int) -> bytes:
    return _TABLE[number] if 0 <= number < len(_TABLE) else varint(number)


def encode_batch(
    keys: Sequence[bytes | None] | None,
    values: Sequence[bytes | None],
    timestamps: Sequence[int] | int,
    *,
    headers: Sequence[Headers] | None = None,
    producer: ProducerIdAndEpoch | None = None,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
) -> bytes:
    """Encode records as one uncompressed batch at offset 0; columns have one length, at least 1. One timestamp serves all."""
    if isinstance(timestamps, int):
        timestamps = [timestamps] * len(values)
    base = timestamps[0]
    records = _encode_records(keys, values, timestamps, headers)
    return assemble(
        records,
        count=len(values),
        base_timestamp=base,
        max_timestamp=max(timestamps),
        attributes=TRANSACTIONAL if transactional else 0,
        producer=producer,
        base_sequence=base_sequence,
    )


def _encode_records(
    keys: Sequence[bytes | None] | None,
    values: Sequence[bytes | None],
    timestamps: Sequence[int],
    headers: Sequence[Headers] | None,
) -> bytes:
    base, parts = timestamps[0], []
    tails = [_NO_HEADERS] * len(values) if headers is None else [_encode_headers(each) for each in headers]
    for number, (key, value, at, tail) in enumerate(
        zip(keys or [None] * len(values), values, timestamps, tails, strict=True)
    ):
        name = _NULL if key is None else _varint(len(key)) + key
        if value is None:
            body = b"".join((b"\0", _varint(at - base), _varint(number), name, _NULL, tail))
        else:
            body = b"".join((b"\0", _varint(at - base), _varint(number), name, _varint(len(value)), value, tail))
        parts.append(_varint(len(body)))
        parts.append(body)
    return b"".join(parts)


def _encode_headers(headers: Headers) -> bytes:
    parts = [_varint(len(headers))]
    for name, value in headers:
        text = name.encode()
        parts += (_varint(len(text)), text, *((_NULL,) if value is None else (_varint(len(value)), value)))
    return b"".join(parts)


def decode_records(batch: bytes | memoryview, header: BatchHeader | None = None) -> Columns:
    """Decode one batch; raise LogError with CORRUPT_MESSAGE if its bytes do not add up."""
    if header is None:
        header = read_header(batch)
    data = _plain(bytes(memoryview(batch)[HEADER.size :]), header.compression)
    columns = Columns([], [], [], [], [])
    position = 0
    try:
        for _ in range(header.count):
            position = _decode_record(data, position, header, columns)
    except IndexError:
        raise _damaged("a record reaches beyond its batch") from None
    if position != len(data):
        raise _damaged(f"{len(data) - position} bytes behind the last record")
    return columns


def _decode_record(data: bytes, position: int, header: BatchHeader, into: Columns) -> int:
    length, position = _read(data, position)
    end = position + length
    if not position < end <= len(data):
        raise _damaged(f"a record declares {length} bytes")
    at, position = _read(data, position + 1)
    number, position = _read(data, position)
    key, position = _read_bytes(data, position, end)
    value, position = _read_bytes(data, position, end)
    if data[position] == 0:
        headers, position = (), position + 1
    else:
        headers, position = _read_headers(data, position, end)
    if position != end:
        raise _damaged(f"a record ends {end - position} bytes before its declared end")
    into.offsets.append(header.base_offset + number)
    into.timestamps.append(header.base_timestamp + at)
    into.keys.append(key)
    into.values.append(value)
    into.headers.append(headers)
    return end


def _read(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint at `position`, with the position behind it."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    folded, shift = byte & 0x7F, 7
    for position in range(position + 1, position + _MAX_VARINT):  # noqa: PLR1704, B020
        byte = data[position]
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (folded >> 1) ^ -(folded & 1), position + 1
        shift += 7
    raise _damaged("a number of more than ten bytes")


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = _read(data, position)
    if length < 0:
        return None, position
    if position + length > end:
        raise _damaged(f"a field declares {length} bytes")
    return data[position : position + length], position + length


def _read_headers(data: bytes, position: int, end: int) -> tuple[Headers, int]:
    count, position = _read(data, position)
    if not 0 <= count <= end - position:
        raise _damaged(f"a record declares {count} headers")
    found = []
    for _ in range(count):
        name, position = _read_bytes(data, position, end)
        value, position = _read_bytes(data, position, end)
        if name is None:
            raise _damaged("a header without a name")
        found.append((name.decode(errors="replace"), value))
    return tuple(found), position


def _plain(data: bytes, compression: int) -> bytes:
    """Unfold compressed records, never beyond MAX_DECOMPRESSED bytes."""
    if compression == 0:
        return data
    if compression != _GZIP:
        name = _CODECS.get(compression, f"number {compression}")
        raise LogError(Code.UNSUPPORTED_COMPRESSION_TYPE, f"cannot unfold {name} records here; only gzip")
    unfold = zlib.decompressobj(wbits=31)
    try:
        plain = unfold.decompress(data, MAX_DECOMPRESSED)
    except zlib.error as why:
        raise _damaged(str(why)) from None
    if unfold.unconsumed_tail:
        raise LogError(Code.MESSAGE_TOO_LARGE, f"a batch unfolds to more than {MAX_DECOMPRESSED} bytes")
    return plain


def _damaged(what: str) -> LogError:
    return LogError(Code.CORRUPT_MESSAGE, f"a record batch is damaged: {what}")
