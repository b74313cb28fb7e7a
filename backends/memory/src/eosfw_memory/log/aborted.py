"""Find the aborted transactions of a range of offsets, by bisection (BRK-07).

Entries come in the order of their markers, so last offsets ascend while first offsets need not: a long transaction may
abort late. Each entry keeps the last stable offset of its moment: whatever was open then, or came later, starts there
or behind, so a search may stop at the first entry whose stable offset reaches the end of the range.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import NamedTuple


class AbortedTransaction(NamedTuple):
    """A transaction that readers leave out from its first offset to its marker."""

    producer_id: int
    first_offset: int


class AbortedIndex:
    """The aborted transactions of one partition."""

    def __init__(self) -> None:
        self._producer_ids = array("q")
        self._first_offsets = array("q")
        self._last_offsets = array("q")
        self._stable_offsets = array("q")

    def __len__(self) -> int:
        return len(self._last_offsets)

    def add(self, producer_id: int, first_offset: int, last_offset: int, last_stable_offset: int) -> None:
        """Note a transaction; `last_offset` is its marker's, `last_stable_offset` the one in force behind it."""
        self._producer_ids.append(producer_id)
        self._first_offsets.append(first_offset)
        self._last_offsets.append(last_offset)
        self._stable_offsets.append(last_stable_offset)

    def between(self, start: int, end: int) -> tuple[AbortedTransaction, ...]:
        """Those that overlap offsets `start` (included) to `end` (not included)."""
        found = []
        for i in range(bisect_left(self._last_offsets, start), len(self._last_offsets)):
            if self._first_offsets[i] < end:
                found.append(AbortedTransaction(self._producer_ids[i], self._first_offsets[i]))
            if self._stable_offsets[i] >= end:
                break
        return tuple(found)
