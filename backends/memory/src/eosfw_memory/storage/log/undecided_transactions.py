"""Find the first offset whose transaction is not decided, however many are open (BRK-06)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

_SLACK: Final = 64
"""Ended transactions kept in line before it is worth sweeping them out."""


class UndecidedTransactions:
    """The open transactions of one partition.

    They begin in offset order, so they stand in line as they came; one that ends leaves the line when it reaches the
    front. Each step costs O(1) on average. (A dict alone would not do: finding its oldest key walks over the removed.)
    """

    def __init__(self) -> None:
        self._producers: dict[int, int] = {}
        self._line: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """First offset with producer id of each, oldest first."""
        return iter(self._producers.items())

    @property
    def first_undecided(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return self._line[0] if self._line else None

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Add one that starts behind all others."""
        self._producers[first_offset] = producer_id
        self._line.append(first_offset)

    def end(self, first_offset: int) -> None:
        """Remove one."""
        producers, line = self._producers, self._line
        del producers[first_offset]
        while line and line[0] not in producers:
            line.popleft()
        if len(line) > 2 * len(producers) + _SLACK:
            self._line = deque(producers)
