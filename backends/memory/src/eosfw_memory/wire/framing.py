"""Cut a stream of bytes into the frames of Kafka's protocol."""

from __future__ import annotations

import struct

_LENGTH = struct.Struct(">i")
LENGTH_BYTES = _LENGTH.size


class FrameError(Exception):
    """A peer announced a frame that no client of Kafka would send."""


class Framer:
    """Collects bytes of one connection; nothing is set aside for a frame before its bytes are here."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes in; give the frames that are complete now, without their lengths."""
        buffer = self._buffer
        if not buffer and len(data) >= LENGTH_BYTES and len(data) == LENGTH_BYTES + self._length_at(data, 0):
            return [data[LENGTH_BYTES:]]  # nearly always: one frame, whole
        buffer += data
        frames: list[bytes] = []
        position = 0
        while len(buffer) - position >= LENGTH_BYTES:
            end = position + LENGTH_BYTES + self._length_at(buffer, position)
            if len(buffer) < end:
                break
            with memoryview(buffer) as view:
                frames.append(bytes(view[position + LENGTH_BYTES : end]))
            position = end
        del buffer[:position]
        return frames

    def _length_at(self, data: bytes | bytearray, position: int) -> int:
        length: int = _LENGTH.unpack_from(data, position)[0]
        if not 0 < length <= self._max_bytes:
            raise FrameError(f"a frame of {length} bytes; allowed are 1 to {self._max_bytes}")
        return length
