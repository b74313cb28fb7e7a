"""The memory that the records of all partitions of a broker may take together."""

from __future__ import annotations

from typing import Final

MEMORY_BYTES: Final = 256 << 20
"""Enough for most tests and demos, and little beside what Spark takes."""


class LogMemory:
    """Counts the bytes of batches that are kept in memory, up to a limit."""

    def __init__(self, limit: int = MEMORY_BYTES) -> None:
        self._left = limit

    def take(self, size: int) -> bool:
        """Count `size` more bytes; False, with nothing counted, when they would exceed the limit."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        """Count `size` bytes less."""
        self._left += size
