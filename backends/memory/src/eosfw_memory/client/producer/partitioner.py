"""Choose partitions as Java's default partitioner does (KIP-480)."""

from __future__ import annotations

_SEED = 0x9747B28C
_M = 0x5BD1E995
_WORD = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Java's `Utils.murmur2`, as 32 unsigned bits."""
    size = len(data)
    mixed = (_SEED ^ size) & _WORD
    whole = size & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _M & _WORD
        mixed = (mixed * _M ^ (word ^ word >> 24) * _M) & _WORD
    if whole < size:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _M & _WORD
    mixed = (mixed ^ mixed >> 13) * _M & _WORD
    return mixed ^ mixed >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of records with this key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class StickyPartitioner:
    """Partitions for records without a key: the same one until a batch is full, then the next one (KIP-480)."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}

    def partition(self, topic: str, partitions: int) -> int:
        """The current partition of a topic."""
        return self._at.get(topic, 0) % partitions

    def on_new_batch(self, topic: str) -> None:
        """Choose the next partition of a topic, because a batch is closed."""
        self._at[topic] = self._at.get(topic, 0) + 1
