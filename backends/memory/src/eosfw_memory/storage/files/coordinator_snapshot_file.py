"""Keep the state of the coordinators from a clean stop to the next start.

A snapshot is used once, and only with the logs it was made from. Taking it removes it, so that a start after a crash
finds none; an append, a truncation or a replaced file changes the fingerprint.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Final

from crc32c import crc32c

from eosfw_memory.storage.files.checksummed_file import LogFingerprint
from eosfw_memory.storage.files.disk import Disk

NAME: Final = "coordinators.snapshot"
_FORMAT: Final = 1
# Checksum of what follows it; SHA-256 of the fingerprints of the logs.
_HEAD: Final = struct.Struct(">I32s")
_CRC: Final = struct.Struct(">I")


def take_coordinator_snapshot(disk: Disk, witnesses: Sequence[LogFingerprint]) -> bytes | None:
    """The snapshot that was made from these logs, if it is there and whole; it is removed."""
    path = disk.root / NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    disk.remove(path)
    disk.sync_directory(disk.root)
    if len(content) < _HEAD.size:
        return None
    checksum, fingerprint = _HEAD.unpack_from(content)
    whole = checksum == crc32c(content[_CRC.size :])
    return content[_HEAD.size :] if whole and fingerprint == _fingerprint(witnesses) else None


def save_coordinator_snapshot(disk: Disk, witnesses: Sequence[LogFingerprint], state: bytes) -> None:
    """Save a snapshot with the fingerprint of the logs it was made from."""
    body = _fingerprint(witnesses) + state
    disk.replace(disk.root / NAME, _CRC.pack(crc32c(body)) + body, durable=disk.waits)


def _fingerprint(witnesses: Sequence[LogFingerprint]) -> bytes:
    return hashlib.sha256(repr((_FORMAT, *witnesses)).encode()).digest()
