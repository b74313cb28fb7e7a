"""Find the partition of the transaction log that keeps a transactional id (COR-01)."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1 << 15)  # hashing an id in Python takes a sixth of a small transaction of the memory client
def partition_for(transactional_id: str, partitions: int) -> int:
    """The absolute value of Java's hash of the text, as Kafka takes it."""
    unsigned = java_hash(transactional_id)
    signed = unsigned - (1 << 32) if unsigned >> 31 else unsigned
    # Java's absolute value of the least integer is negative; Kafka's `Utils.abs` takes 0 for it.
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def java_hash(text: str) -> int:
    """`String.hashCode` of Java, as 32 unsigned bits."""
    value = 0
    # Java hashes UTF-16 units, and its strings may hold half a surrogate pair.
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value
