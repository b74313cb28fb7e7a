"""Step through the primitive types of Kafka's stored messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eosfw.errors import DamagedDataError
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.storage.records.varints import read_unsigned

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


class MessageReader:
    """A position in a stored message; `compact` says that lengths are varints, as flexible versions have them."""

    def __init__(self, data: bytes, position: int, *, compact: bool) -> None:
        self._data = data
        self._position = position
        self._compact = compact

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Read fixed fields."""
        values = layout.unpack_from(self._data, self._position)
        self._position += layout.size
        return values

    def int32(self) -> int:
        return int(self.unpack(_INT32)[0])

    def array_length(self) -> int:
        """How many elements follow; -1 for null."""
        return self._uvarint() - 1 if self._compact else self.int32()

    def string(self) -> str:
        length = self._uvarint() - 1 if self._compact else int(self.unpack(_INT16)[0])
        return self._take(length).decode()

    def nullable_string(self) -> str | None:
        length = self._uvarint() - 1 if self._compact else int(self.unpack(_INT16)[0])
        return None if length < 0 else self._take(length).decode()

    def binary(self) -> bytes:
        return self._take(self._uvarint() - 1 if self._compact else self.int32())

    def nullable_binary(self) -> bytes | None:
        length = self.array_length()
        return None if length < 0 else self._take(length)

    def tags(self) -> dict[int, bytes]:
        """The tagged fields that follow, by number, as raw bytes."""
        if not self._compact:
            return {}
        # Python evaluates a key before its value: number, then size and data, as they stand in the bytes.
        return {self._uvarint(): self._take(self._uvarint()) for _ in range(self._uvarint())}

    def _uvarint(self) -> int:
        try:
            number, self._position = read_unsigned(self._data, self._position)
        except CorruptMessageError as why:
            raise ValueError(str(why)) from why
        return number

    def _take(self, length: int) -> bytes:
        start, self._position = self._position, self._position + length
        if length < 0 or self._position > len(self._data):
            raise ValueError(f"{length} bytes announced at {start}, {len(self._data)} there in all")
        return self._data[start : self._position]


@contextmanager
def metadata_record(value: bytes, frame: bytes, what: str) -> Iterator[MessageReader]:
    """Read a record of `__cluster_metadata` behind its frame: the frame's version, the kind of record, its version.

    DamagedDataError for another record, and for one that ends early.
    """
    if not value.startswith(frame):
        raise DamagedDataError(f"a record of {what} begins with {value[: len(frame)]!r}, not with {frame!r}")
    try:
        yield MessageReader(value, len(frame), compact=True)
    except (struct.error, ValueError, IndexError) as why:
        raise DamagedDataError(f"a record of {what} cannot be read: {why}") from why
