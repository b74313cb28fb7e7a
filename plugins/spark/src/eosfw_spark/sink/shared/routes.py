"""Numbers that Spark's hash partitioner sends to a partition that is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

_WORD: Final = 0xFFFFFFFF
_SEED: Final = 42


def routes(partitions: int) -> Sequence[int]:
    """For each partition of a shuffle by an int column the smallest number that leads there.

    `repartition(n, column)` hashes the column, so partitions by their own numbers would meet in some tasks, and leave
    others without rows.
    """
    found: dict[int, int] = {}
    for number in count():
        found.setdefault(_murmur3(number) % partitions, number)
        if len(found) == partitions:
            return [found[each] for each in range(partitions)]
    raise AssertionError("there are numbers enough")


def _murmur3(number: int) -> int:
    """Spark's `Murmur3_x86_32.hashInt`, which `hash` of an int column is."""
    mixed = _SEED ^ _rotated(number * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    mixed = (_rotated(mixed & _WORD, 13) * 5 + 0xE6546B64) & _WORD ^ 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _WORD
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _WORD
