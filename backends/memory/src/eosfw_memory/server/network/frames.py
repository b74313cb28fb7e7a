"""Cut a stream of bytes into the frames of Kafka's protocol: a length in four bytes, then that many bytes."""

from __future__ import annotations

import struct
from typing import Final

from eosfw_memory.storage.records.batch import Buffer

_LENGTH = struct.Struct(">i")
LENGTH_BYTES: Final = _LENGTH.size
_INITIAL_BYTES: Final = 1 << 14
_LEAST_FREE_BYTES: Final = 1 << 12
"""Reading fewer bytes is not worth a system call."""
_KEPT_BYTES: Final = 1 << 21
"""Enough for a producer's largest request (`max.request.size`); a buffer that grew beyond is replaced when empty."""
_VIEW_BYTES: Final = 1 << 12
"""Frames of fewer bytes are copied, which costs as little as a view of them."""


class FrameError(Exception):
    """A peer announced a frame that no client of Kafka would send."""


class FrameDecoder:
    """Collects the bytes of one connection in a buffer, which the event loop fills, and gives whole frames.

    The buffer is used again: fresh memory for each frame makes transactions of 10,000 records a tenth slower. It is
    doubled when it is full, never made as large as a frame's length declares: no memory is reserved for bytes that have
    not come.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        """The largest frame that is taken."""
        self._allocate(_INITIAL_BYTES)
        self._begin = self._end = 0
        """Where the bytes lie that were not returned in a frame yet."""

    @property
    def buffered_bytes(self) -> int:
        """How many bytes wait for the rest of their frame."""
        return self._end - self._begin

    def free_buffer(self) -> memoryview:
        """Where to write the next bytes. They overwrite frames that were returned before."""
        if self._begin == self._end:
            self._begin = self._end = 0
            if self._size > _KEPT_BYTES:
                self._allocate(_INITIAL_BYTES)
            return self._writable
        if self._size - self._end < _LEAST_FREE_BYTES:
            self._free_space()
        return self._writable[self._end :]

    def received(self, size: int) -> list[Buffer]:
        """Take the next `size` bytes of the buffer; return the frames that are complete, without their lengths."""
        frames: list[Buffer] = []
        begin, end, data = self._begin, self._end + size, self._readable
        while end - begin >= LENGTH_BYTES:
            length: int = _LENGTH.unpack_from(data, begin)[0]
            if not 0 < length <= self.max_bytes:
                raise FrameError(f"a frame of {length} bytes; allowed are 1 to {self.max_bytes}")
            frame_end = begin + LENGTH_BYTES + length
            if frame_end > end:
                break
            frame = data[begin + LENGTH_BYTES : frame_end]
            frames.append(frame if length >= _VIEW_BYTES else frame.tobytes())
            begin = frame_end
        self._begin, self._end = begin, end
        return frames

    def _free_space(self) -> None:
        """Move the bytes to the front of the buffer, or of one twice as large if they take up more than half."""
        waiting = self._readable[self._begin : self._end]
        if 2 * len(waiting) > self._size:
            self._allocate(2 * self._size)
        self._begin, self._end = 0, len(waiting)
        # The two may overlap; assigning a memoryview to a slice moves the bytes as memmove does.
        self._writable[: self._end] = waiting

    def _allocate(self, size: int) -> None:
        self._size = size
        self._writable = memoryview(bytearray(size))
        self._readable = self._writable.toreadonly()
