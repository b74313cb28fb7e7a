"""Recognise compression and encoding by a file's first bytes."""

from __future__ import annotations

import re
from typing import Final

SIGNATURE_BYTES: Final = 64
"""The first bytes that are enough to recognise any content."""
COMPRESSIONS: Final = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
}
"""The signatures of the compressions that the connector reads."""
_UNSUPPORTED_COMPRESSIONS: Final = {
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zip": re.compile(rb"PK(\x03\x04|\x05\x06)"),
    "lz4": re.compile(rb"\x04\x22\x4d\x18"),
    "7z": re.compile(rb"7z\xbc\xaf\x27\x1c"),
    "snappy": re.compile(rb"\xff\x06\x00\x00sNaPpY"),
    "compress": re.compile(rb"\x1f\x9d"),
    "lzip": re.compile(rb"LZIP[\x00\x01]"),
}
_UNSUPPORTED_ENCODINGS: Final = {
    "UTF-32": re.compile(rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff"),
    # Without a byte order mark: in text of Western languages every other byte is zero.
    "UTF-16": re.compile(rb"\xff\xfe|\xfe\xff|(?:[^\x00]\x00){4,}[^\x00]?\Z|(?:\x00[^\x00]){4,}\x00?\Z"),
}


def compression(head: bytes) -> str | None:
    """The compression of a file by its first bytes; None if it is none that the connector reads."""
    return next((name for name, signature in COMPRESSIONS.items() if signature.match(head)), None)


def reason_unreadable(head: bytes) -> str | None:
    """Why a file with these first bytes cannot be read, and the remedy; None if it can."""
    head = head[:SIGNATURE_BYTES]
    for name, signature in _UNSUPPORTED_COMPRESSIONS.items():
        if signature.match(head):
            return f"is compressed with {name}, of which only gzip and zstd are read: unpack it, or pack it with gzip"
    for name, signature in _UNSUPPORTED_ENCODINGS.items():
        if signature.match(head):
            return f"is {name} text: convert it, as by `iconv -f {name} -t UTF-8`"
    return None
