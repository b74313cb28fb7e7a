"""Frame indexes and snapshots with a checksum and a fingerprint of their log.

A file that is half-written, or about other batches, is then never used.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from uuid import UUID

from crc32c import crc32c

VERSION = 2
# Kind, version, topic id, partition, base offset, end offset, size, checksum of the last batch.
_HEAD = struct.Struct(">4sH16siqqqI")
_CRC = struct.Struct(">I")
_SIZE = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class LogFingerprint:
    """Which bytes of which log a file was made from."""

    topic_id: UUID
    partition: int
    base_offset: int
    """Of the segment."""
    end_offset: int
    size: int
    """Of the segment, in bytes."""
    last_crc: int
    """The checksum that its last batch declares; 0 without batches."""


def encode_checksummed(kind: bytes, fingerprint: LogFingerprint, body: bytes) -> bytes:
    """The bytes of a file about a log; `kind` has four letters."""
    head = _HEAD.pack(
        kind,
        VERSION,
        fingerprint.topic_id.bytes,
        fingerprint.partition,
        fingerprint.base_offset,
        fingerprint.end_offset,
        fingerprint.size,
        fingerprint.last_crc,
    )
    return head + body + _CRC.pack(crc32c(body, crc32c(head)))


def encode_framed(sealed: bytes) -> bytes:
    """A part of a file that has several: its length, then the part."""
    return _SIZE.pack(len(sealed)) + sealed


def decode_framed(kind: bytes, data: memoryview, at: int) -> tuple[LogFingerprint, memoryview, int] | None:
    """The fingerprint and body of the part at a position, with the position behind it; None without a whole part."""
    if at + _SIZE.size > len(data):
        return None
    begins = at + _SIZE.size
    behind = begins + _SIZE.unpack_from(data, at)[0]
    found = decode_checksummed(kind, data[begins:behind]) if behind <= len(data) else None
    return None if found is None else (*found, behind)


def decode_checksummed(kind: bytes, data: bytes | memoryview) -> tuple[LogFingerprint, memoryview] | None:
    """Fingerprint and body; None for damage, another kind, or an unknown version."""
    if len(data) < _HEAD.size + _CRC.size or _CRC.unpack_from(data, len(data) - _CRC.size)[0] != crc32c(
        memoryview(data)[: -_CRC.size]
    ):
        return None
    found, version, topic_id, *numbers = _HEAD.unpack_from(data)
    if found != kind or version != VERSION:
        return None
    return LogFingerprint(UUID(bytes=topic_id), *numbers), memoryview(data)[_HEAD.size : -_CRC.size]
