"""Cut a stream of bytes into the frames of Kafka's protocol."""

from __future__ import annotations

import struct

from eosfw_memory.log.batch import Buffer

_LENGTH = struct.Struct(">i")
LENGTH_BYTES = _LENGTH.size
_WORTH_A_PIECE = 4096
"""Bytes that are kept as they came; fewer are gathered, since each piece takes memory of its own."""


class FrameError(Exception):
    """A peer announced a frame that no client of Kafka would send."""


class Framer:
    """Collects bytes of one connection; nothing is set aside for a frame before its bytes are here.

    A frame that comes in many pieces is put together once, when its last one is here: a producer's may have a megabyte,
    and fresh memory costs more than anything else that is done with it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes | bytearray] = []
        """Of a frame that is not whole, or of the length before it."""
        self.held = 0
        """Their bytes."""
        self._due = 0
        """Bytes that are needed to go on."""

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes in; give the frames that are complete now, without their lengths."""
        frames: list[bytes] = []
        if self._pieces:
            self._add(data)
            if self.held < self._due:
                return frames
            data = self._put_together(frames)
        position = 0
        while len(data) - position >= LENGTH_BYTES:
            end = position + LENGTH_BYTES + self._length_at(data, position)
            if len(data) < end:
                break
            frames.append(data[position + LENGTH_BYTES : end])
            position = end
        if position < len(data):
            self._keep(data[position:])
        return frames

    def _add(self, data: bytes) -> None:
        last = self._pieces[-1]
        if len(data) >= _WORTH_A_PIECE:
            self._pieces.append(data)
        elif isinstance(last, bytearray) and len(last) < _WORTH_A_PIECE:
            last += data
        else:
            self._pieces.append(bytearray(data))
        self.held += len(data)

    def _keep(self, rest: bytes) -> None:
        known = len(rest) >= LENGTH_BYTES
        self._pieces, self.held = [rest], len(rest)
        self._due = LENGTH_BYTES + self._length_at(rest, 0) if known else LENGTH_BYTES

    def _put_together(self, frames: list[bytes]) -> bytes:
        """Add the frame that was waited for; give what is behind it."""
        pieces, self._pieces = self._pieces, []
        size, self.held = self.held, 0
        if len(pieces[0]) < LENGTH_BYTES:  # even its length was not known
            return b"".join(pieces)
        last = memoryview(pieces[-1])
        end = len(last) - (size - self._due)
        within: list[Buffer] = [memoryview(pieces[0])[LENGTH_BYTES:], *pieces[1:-1], last[:end]]
        frames.append(b"".join(within))
        return bytes(last[end:])

    def _length_at(self, data: bytes, position: int) -> int:
        length: int = _LENGTH.unpack_from(data, position)[0]
        if not 0 < length <= self._max_bytes:
            raise FrameError(f"a frame of {length} bytes; allowed are 1 to {self._max_bytes}")
        return length
