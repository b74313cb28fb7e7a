"""Read the 61 bytes before the records of a batch (format v2), without touching the records.

The checksum covers everything from the attributes on, so offset and leader epoch can be stamped without computing it
again (KIP-98's message format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from crc32c import crc32c

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.log_errors import CorruptMessageError, InvalidRecordError

Buffer: TypeAlias = bytes | bytearray | memoryview

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
MAX_SEQUENCE: Final = 2**31 - 1
MAGIC: Final = 2

# Base offset, length, leader epoch, magic, CRC-32C; then what the checksum covers: attributes, last offset delta, first
# and largest timestamp, producer id, producer epoch, base sequence, number of records.
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
PLACE: Final = struct.Struct(">qii")
"""The first fields: base offset, length, leader epoch."""
LENGTH_END: Final = 12
"""Where the part that the declared length counts begins."""
_COVERED: Final = struct.Struct(">hiqqqhii")
_UNCOVERED: Final = struct.Struct(">qiibI")
_MAGIC_AT: Final = 16
_LENGTH_AT: Final = 8
_LENGTH: Final = struct.Struct(">i")
_LEAST_LENGTH: Final = 14
"""Of the oldest format; a newer batch of that size fails its checksum."""
_UNKNOWN_LEADER: Final = -1

_COMPRESSION: Final = 0b111
_LOG_APPEND_TIME: Final = 0b1000
TRANSACTIONAL: Final = 0b1_0000
CONTROL: Final = 0b10_0000
_HORIZON: Final = 0b100_0000


class TimestampType(IntEnum):
    """Whose clock a batch's timestamps are from."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The header of a batch; the fields are in the order of their bytes."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.batch_length + LENGTH_END

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The last record's sequence; it wraps to 0 behind 2^31 - 1 (PRD-07)."""
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE if self.base_sequence >= 0 else NO_SEQUENCE

    @property
    def compression(self) -> int:
        """Kafka's number of the compression type; 0 is none."""
        return self.attributes & _COMPRESSION

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & _LOG_APPEND_TIME else TimestampType.CREATE_TIME

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def horizon_ms(self) -> int | None:
        """From when on its tombstones, or the marker it is, may go; None before the first cleaning (KIP-534)."""
        return self.base_timestamp if self.attributes & _HORIZON else None

    @property
    def control(self) -> bool:
        return bool(self.attributes & CONTROL)


HeaderFields: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""A `BatchHeader` without its names: they would cost a start more than the checksum of a small batch does."""


def read_header(data: Buffer) -> BatchHeader:
    """Read the header of the one batch in `data`; raise unless lengths and checksum agree."""
    header = header_at(data, 0)
    if header.size < len(data):
        raise InvalidRecordError(
            f"{len(data) - header.size} bytes follow the first record batch: one partition takes one batch per request"
        )
    check_sum(data, header)
    return header


def check_sum(data: Buffer, header: BatchHeader) -> None:
    """Raise CorruptMessageError unless the checksum of the one batch in `data` is what its header says."""
    found = crc32c(memoryview(data)[_UNCOVERED.size :])
    if found != header.crc:
        raise CorruptMessageError(f"a record batch has CRC-32C {found:#010x} where its header says {header.crc:#010x}")


def sole_batch(data: bytes) -> bytes:
    """What a producer sent without the rest behind its one batch, which Kafka ignores unless it is another batch.

    Raises InvalidRecordError for no batch and for several, CorruptMessageError for one with an impossible length or of
    an unknown format.
    """
    size = _framed(data, 0)
    if size is None:
        raise InvalidRecordError(f"{len(data)} bytes came where a whole record batch was due")
    if size == len(data):
        return data
    if _framed(data, size) is not None:
        raise InvalidRecordError("another record batch follows the first: one partition takes one batch per request")
    return data[:size]


def first_header(data: bytes) -> BatchHeader | None:
    """What the first batch says of itself, not checked any further; None without a whole batch of this format.

    Raises CorruptMessageError for one with an impossible length or of an unknown format.
    """
    size = _framed(data, 0)
    if size is None or size < HEADER.size or data[_MAGIC_AT] != MAGIC:
        return None
    return BatchHeader._make(HEADER.unpack_from(data))


def _framed(data: bytes, at: int) -> int | None:
    """The size of the batch at a position; None unless the whole batch is there."""
    left = len(data) - at
    if left < LENGTH_END:
        return None
    length: int = _LENGTH.unpack_from(data, at + _LENGTH_AT)[0]
    if length < _LEAST_LENGTH:
        raise CorruptMessageError(f"a record batch declares {length} bytes, at least {_LEAST_LENGTH} are due")
    if left <= _MAGIC_AT:
        return None
    # Older formats have their length at the same place; `header_at` refuses them with an error of their own.
    if data[at + _MAGIC_AT] > MAGIC:
        raise CorruptMessageError(f"record format {data[at + _MAGIC_AT]} is unknown: send magic {MAGIC}")
    return length + LENGTH_END if length + LENGTH_END <= left else None


def header_at(data: Buffer, position: int) -> BatchHeader:
    """Read the header of the batch at `position`; raise when the bytes cannot hold what it declares."""
    left = len(data) - position
    if left > _MAGIC_AT and data[position + _MAGIC_AT] != MAGIC:
        raise InvalidRecordError(f"record format {data[position + _MAGIC_AT]} is not kept here: send magic {MAGIC}")
    if left < HEADER.size:
        raise CorruptMessageError(f"a record batch of {left} bytes is shorter than its header")
    header = BatchHeader._make(HEADER.unpack_from(data, position))
    if not HEADER.size <= header.size <= left:
        raise CorruptMessageError(f"a record batch declares {header.size} bytes where {left} arrived")
    return header


def split(records: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield each whole batch of fetched records; a last one that was cut off is left out."""
    view, position = memoryview(records), 0
    while len(view) - position >= HEADER.size:
        size = PLACE.unpack_from(view, position)[1] + LENGTH_END
        if size > len(view) - position:
            return
        yield header_at(view, position), view[position : position + size]
        position += size


def resequenced(batch: bytes, epoch: int, base_sequence: int) -> bytes:
    """The batch with another producer epoch and base sequence, for a producer that numbers its batches anew."""
    attributes = _UNCOVERED.size
    # Of the covered fields these are the sixth and seventh; sizes stay, but the checksum has to be computed again.
    own, fields = _UNCOVERED.unpack_from(batch), _COVERED.unpack_from(batch, attributes)
    covered = _COVERED.pack(*fields[:5], epoch, base_sequence, fields[7]) + batch[attributes + _COVERED.size :]
    return _UNCOVERED.pack(*own[:4], crc32c(covered)) + covered


def restamped(batch: Buffer, header: BatchHeader, newest: int, kind: TimestampType) -> bytes:
    """The batch with another newest timestamp, which with LogAppendTime is that of all its records."""
    attributes = header.attributes & ~_LOG_APPEND_TIME | (_LOG_APPEND_TIME if kind else 0)
    covered = _COVERED.pack(attributes, header.last_offset_delta, header.base_timestamp, newest, *header[9:])
    return _sealed(header.base_offset, covered, memoryview(batch)[HEADER.size :])


def rebuilt(
    header: BatchHeader, records: bytes, count: int, base_timestamp: int, newest: int, *, horizon: bool
) -> bytes:
    """The batch with other, uncompressed records; everything else it says of itself stays."""
    attributes = header.attributes & ~_COMPRESSION | (_HORIZON if horizon else 0)
    covered = _COVERED.pack(attributes, header.last_offset_delta, base_timestamp, newest, *header[9:12], count)
    crc = crc32c(records, crc32c(covered))
    length = HEADER.size - LENGTH_END + len(records)
    return _UNCOVERED.pack(header.base_offset, length, header.leader_epoch, MAGIC, crc) + covered + records


def assemble(
    records: bytes,
    count: int,
    timestamps: tuple[int, int],
    producer: ProducerIdAndEpoch,
    *,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
) -> bytes:
    """Put a header before encoded records; `timestamps` are the first and the largest."""
    attributes = TRANSACTIONAL if transactional else 0
    covered = _COVERED.pack(
        attributes, count - 1, *timestamps, producer.producer_id, producer.epoch, base_sequence, count
    )
    return _sealed(0, covered, records)


def assemble_lone(
    record: bytes, timestamp: int, producer: ProducerIdAndEpoch, base_sequence: int = NO_SEQUENCE, attributes: int = 0
) -> bytes:
    """Put a header before one encoded record; copying so little costs less than a second checksum."""
    body = (
        _COVERED.pack(attributes, 0, timestamp, timestamp, producer.producer_id, producer.epoch, base_sequence, 1)
        + record
    )
    length = _UNCOVERED.size - LENGTH_END + len(body)
    return _UNCOVERED.pack(0, length, _UNKNOWN_LEADER, MAGIC, crc32c(body)) + body


def _sealed(base_offset: int, covered: bytes, records: Buffer) -> bytes:
    crc = crc32c(records, crc32c(covered))
    length = HEADER.size - LENGTH_END + len(records)
    return b"".join((_UNCOVERED.pack(base_offset, length, _UNKNOWN_LEADER, MAGIC, crc), covered, records))
