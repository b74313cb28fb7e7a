"""Know the first undecided offset of a partition at any time, in constant time (BRK-06).

Transactions enter in the order of their first offsets, so the oldest is the first of an ordered dict; unlike a plain
dict it also stays fast when the oldest always closes first.
"""

from __future__ import annotations

from collections import OrderedDict


class OpenTransactions:
    """First offsets of the transactions that are open in one partition, by producer id."""

    def __init__(self) -> None:
        self._first: OrderedDict[int, int] = OrderedDict()

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._first

    def __len__(self) -> int:
        return len(self._first)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Note a transaction; offsets come in ascending order."""
        self._first[producer_id] = first_offset

    def end(self, producer_id: int) -> int | None:
        """Forget a transaction; its first offset, or None if it wrote nothing here."""
        return self._first.pop(producer_id, None)

    def first_undecided(self) -> int | None:
        """The lowest first offset, or None when nothing is open."""
        return next(iter(self._first.values()), None)

    def items(self) -> list[tuple[int, int]]:
        """Producer ids with their first offsets, oldest first."""
        return list(self._first.items())
