"""Cut a stream of bytes into the frames of Kafka's protocol."""

from __future__ import annotations

import struct
from typing import Final

from eosfw_memory.records.batch import Buffer

_LENGTH = struct.Struct(">i")
LENGTH_BYTES: Final = _LENGTH.size
_FIRST_ROOM: Final = 1 << 14
_LEAST_ROOM: Final = 1 << 12
"""Less is not worth a system call."""
_KEPT_ROOM: Final = 1 << 21
"""Enough for a producer's largest request; whatever a larger one took is given back behind it."""
_WORTH_A_VIEW: Final = 1 << 12
"""A copy of fewer bytes costs as much as a view of them."""


class FrameError(Exception):
    """A peer announced a frame that no client of Kafka would send."""


class FrameDecoder:
    """Collects bytes of one connection, in memory that is used again and again: fresh memory costs more than anything
    else that is done with a frame.

    Nothing is set aside for a frame before its bytes are here: room is doubled when it is taken up, whatever a length
    announces.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._set_up(_FIRST_ROOM)
        self._begin = self._end = 0
        """Of the bytes that were not given in a frame yet."""

    @property
    def held(self) -> int:
        """Bytes of a frame that is not whole."""
        return self._end - self._begin

    def room(self) -> memoryview:
        """Where the next bytes belong. What was given before is void once they are there."""
        if self._begin == self._end:
            self._begin = self._end = 0
            if self._size > _KEPT_ROOM:
                self._set_up(_FIRST_ROOM)
            return self._writable
        if self._size - self._end < _LEAST_ROOM:
            self._make_room()
        return self._writable[self._end :]

    def received(self, size: int) -> list[Buffer]:
        """Take note of so many bytes in that room; give the frames that are complete now, without their lengths."""
        frames: list[Buffer] = []
        begin, end, there = self._begin, self._end + size, self._readable
        while end - begin >= LENGTH_BYTES:
            length: int = _LENGTH.unpack_from(there, begin)[0]
            if not 0 < length <= self._max_bytes:
                raise FrameError(f"a frame of {length} bytes; allowed are 1 to {self._max_bytes}")
            behind = begin + LENGTH_BYTES + length
            if behind > end:
                break
            frame = there[begin + LENGTH_BYTES : behind]
            frames.append(frame if length >= _WORTH_A_VIEW else frame.tobytes())
            begin = behind
        self._begin, self._end = begin, end
        return frames

    def _make_room(self) -> None:
        """Move what is there to the front; of larger memory, if it takes up more than half."""
        there = self._readable[self._begin : self._end]
        if 2 * len(there) > self._size:
            self._set_up(2 * self._size)
        self._begin, self._end = 0, len(there)
        self._writable[: self._end] = there

    def _set_up(self, size: int) -> None:
        self._size = size
        self._writable = memoryview(bytearray(size))
        self._readable = self._writable.toreadonly()
