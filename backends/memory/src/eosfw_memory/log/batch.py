"""Read the 61 bytes before the records of a batch (magic 2), without touching the records.

Layout: KIP-98's message format. The checksum covers everything from the attributes on, so offset and leader epoch can
be stamped without computing it again.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from crc32c import crc32c
from eosfw.ids import ProducerIdAndEpoch

from eosfw_memory.codes import Code
from eosfw_memory.coordinators.states import Outcome
from eosfw_memory.log.errors import LogError

HEADER = struct.Struct(">qiibIhiqqqhii")
_LENGTH = struct.Struct(">i")
_STAMP = struct.Struct(">q")
_CHECKSUM = struct.Struct(">I")
_COVERED = struct.Struct(">hiqqqhii")
_MARKER_KEY = struct.Struct(">hh")
_MARKER_VALUE = struct.Struct(">hi")

LENGTH_END = 12
"""Where the part that the declared length counts begins."""
CRC_START = 21
MAGIC = 2
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1

COMPRESSION = 0b111
TRANSACTIONAL = 0b1_0000
CONTROL = 0b10_0000
_KNOWN_ATTRIBUTES = 0b111_1111


class BatchHeader(NamedTuple):
    """What a batch says of itself."""

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
    count: int

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION

    @property
    def last_sequence(self) -> int:
        """The last record's sequence; it wraps to 0 behind 2^31 - 1 (PRD-07)."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF if self.base_sequence >= 0 else NO_SEQUENCE


def read_header(data: bytes | memoryview) -> BatchHeader:
    """Read the header of the one batch in `data`; raise LogError unless lengths and checksum agree."""
    size = len(data)
    if size < HEADER.size:
        raise LogError(Code.CORRUPT_MESSAGE, f"a record batch of {size} bytes is shorter than its header")
    header = BatchHeader._make(HEADER.unpack_from(data))
    if header.magic != MAGIC:
        raise LogError(Code.INVALID_RECORD, f"record format {header.magic} is not kept here: send magic 2")
    declared = header.batch_length + LENGTH_END
    if HEADER.size <= declared < size:
        raise LogError(Code.INVALID_RECORD, "one partition takes one record batch per request")
    if declared != size:
        raise LogError(Code.CORRUPT_MESSAGE, f"a record batch declares {declared} bytes where {size} arrived")
    if crc32c(memoryview(data)[CRC_START:]) != header.crc:
        raise LogError(Code.CORRUPT_MESSAGE, "a record batch does not match its checksum")
    return header


def check_client_batch(header: BatchHeader) -> None:
    """Raise LogError for what no producer may send, whoever it is."""
    if header.control:
        raise LogError(Code.INVALID_RECORD, "clients may not write control records")
    if header.attributes & ~_KNOWN_ATTRIBUTES:
        raise LogError(Code.INVALID_RECORD, f"unknown attributes {header.attributes:#06x} in a record batch")
    if header.count <= 0 or header.last_offset_delta != header.count - 1:
        raise LogError(
            Code.INVALID_RECORD, f"a record batch counts {header.count} records up to offset {header.last_offset_delta}"
        )
    if header.producer_id != NO_PRODUCER_ID and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise LogError(Code.INVALID_RECORD, "an idempotent batch needs a sequence number with a producer epoch")
    if header.transactional and header.producer_id == NO_PRODUCER_ID:
        raise LogError(Code.INVALID_RECORD, "a transactional batch needs a producer id")


def stamped(batch: bytes | memoryview, base_offset: int, leader_epoch: int) -> bytes:
    """The batch at its place in the log: offset and leader epoch replaced, copied once."""
    view = memoryview(batch)
    return b"".join((_STAMP.pack(base_offset), view[8:12], _LENGTH.pack(leader_epoch), view[16:]))


def marker(
    offset: int, producer: ProducerIdAndEpoch, outcome: Outcome, coordinator_epoch: int, timestamp: int, leader_epoch: int
) -> bytes:
    """The control batch that ends a transaction in one partition (BRK-05)."""
    key = _MARKER_KEY.pack(0, 1 if outcome is Outcome.COMMIT else 0)
    value = _MARKER_VALUE.pack(0, coordinator_epoch)
    # length 16, attributes 0, deltas 0, key length 4, value length 6 (zigzag), no headers
    record = b"\x20\x00\x00\x00\x08" + key + b"\x0c" + value + b"\x00"
    return assemble(
        record,
        base_offset=offset,
        leader_epoch=leader_epoch,
        attributes=CONTROL | TRANSACTIONAL,
        count=1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer=producer,
        base_sequence=NO_SEQUENCE,
    )


def assemble(
    records: bytes,
    *,
    count: int,
    base_timestamp: int,
    max_timestamp: int,
    attributes: int = 0,
    producer: ProducerIdAndEpoch | None = None,
    base_sequence: int = NO_SEQUENCE,
    base_offset: int = 0,
    leader_epoch: int = 0,
) -> bytes:
    """Put a header before encoded records."""
    producer_id, epoch = (producer.producer_id, producer.epoch) if producer is not None else (NO_PRODUCER_ID, -1)
    covered = _COVERED.pack(
        attributes, count - 1, base_timestamp, max_timestamp, producer_id, epoch, base_sequence, count
    )
    checksum = crc32c(records, crc32c(covered))
    length = HEADER.size - LENGTH_END + len(records)
    head = _STAMP.pack(base_offset) + struct.pack(">iib", length, leader_epoch, MAGIC) + _CHECKSUM.pack(checksum)
    return b"".join((head, covered, records))
