"""Confluent's wire format: a zero, the id of the schema in four bytes, then what a format writes."""

from __future__ import annotations

from eosfw.errors import DataError

_MAGIC = b"\0"
_HEAD = 5


def head(number: int) -> bytes:
    """What stands in front of each value of a schema."""
    return _MAGIC + number.to_bytes(4, "big")


def parted(data: bytes) -> tuple[int, bytes]:
    """The id of the schema and what follows; DataError if these bytes are none of this format."""
    if len(data) < _HEAD or data[:1] != _MAGIC:
        raise DataError("Unknown magic byte! It was not written with a schema registry")
    return int.from_bytes(data[1:_HEAD], "big"), data[_HEAD:]
