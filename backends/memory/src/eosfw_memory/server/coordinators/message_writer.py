"""Write the primitive types of Kafka's stored messages; those of flexible versions are `storage.records.varints`'s."""

from __future__ import annotations

import struct
from typing import Final

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_NULL: Final = _INT16.pack(-1)
NO_TAGS: Final = b"\0"
"""That no tagged field follows, in a message of a flexible version."""


def string(text: str) -> bytes:
    """A text behind its length."""
    data = text.encode()
    return _INT16.pack(len(data)) + data


def nullable_string(text: str | None) -> bytes:
    """A text, or that there is none."""
    return _NULL if text is None else string(text)


def binary(data: bytes) -> bytes:
    """Bytes behind their length."""
    return _INT32.pack(len(data)) + data
