"""Find the aborted transactions in a range of offsets, however many there are (BRK-07). Kafka's `TransactionIndex`."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

_BLOCK: Final = 64


class AbortedTransaction(NamedTuple):
    """An aborted transaction as a reader needs it: skip this producer's records from here to its abort marker."""

    producer_id: int
    first_offset: int


class AbortedTxn(NamedTuple):
    """One entry of the index."""

    producer_id: int
    first_offset: int
    marker_offset: int
    stable_offset: int


class TransactionIndex:
    """Aborted transactions in the order of their markers.

    Each entry holds its first offset, the offset of its marker and the last stable offset after it. Markers as well as
    stable offsets only rise, so both ends of what concerns a range are bisected: below are transactions that ended
    before the range; above, those that began behind it (they were not open while the stable offset was lower). In
    between may lie short transactions behind the range that ended while a long one, from before it, was open; the least
    first offset of each block lets whole blocks of them be passed over.
    """

    def __init__(self) -> None:
        self._producers = array("q")
        self._firsts = array("q")
        self._markers = array("q")
        self._stable = array("q")
        self._least = array("q")

    def __len__(self) -> int:
        return len(self._markers)

    def add(self, producer_id: int, first_offset: int, marker_offset: int, stable_offset: int) -> None:
        """Append one whose marker is the latest; `stable_offset` is the last stable offset behind that marker."""
        if len(self._firsts) % _BLOCK:
            self._least[-1] = min(self._least[-1], first_offset)
        else:
            self._least.append(first_offset)
        self._producers.append(producer_id)
        self._firsts.append(first_offset)
        self._markers.append(marker_offset)
        self._stable.append(stable_offset)

    def between(self, start: int, end: int) -> tuple[AbortedTransaction, ...]:
        """Those with any offset from `start` up to but not including `end`, in the order of their markers."""
        low = bisect_left(self._markers, start)
        # One more than bisected: at its marker all below `end` was decided, so it may begin there and no later one can.
        high = min(bisect_left(self._stable, end, low) + 1, len(self._markers))
        return tuple(
            AbortedTransaction._make(entry)
            for first, last in self._spans(low, high, end)
            for entry in zip(self._producers[first:last], self._firsts[first:last], strict=True)
            if entry[1] < end
        )

    def ended_in(self, start: int, end: int) -> list[AbortedTxn]:
        """Those whose marker lies from `start` up to but not including `end`."""
        part = slice(bisect_left(self._markers, start), bisect_left(self._markers, end))
        columns = (self._producers[part], self._firsts[part], self._markers[part], self._stable[part])
        return list(map(AbortedTxn._make, zip(*columns, strict=True)))

    def without(self, markers: Collection[int]) -> TransactionIndex:
        """The index without those whose markers compaction removed: readers would wait for those."""
        kept = TransactionIndex()
        for entry in self.ended_in(0, 1 << 62):
            if entry.marker_offset not in markers:
                kept.add(*entry)
        return kept

    def forget_before(self, offset: int) -> None:
        """Remove those whose markers lie before an offset, where no reader can be."""
        gone = bisect_left(self._markers, offset)
        if gone:
            for column in (self._producers, self._firsts, self._markers, self._stable):
                del column[:gone]
            starts = range(0, len(self._firsts), _BLOCK)
            self._least = array("q", (min(self._firsts[at : at + _BLOCK]) for at in starts))

    def _spans(self, low: int, high: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of `low` to `high` in which some transaction begins before `end`."""
        for block in range(low // _BLOCK, -(-high // _BLOCK)):
            if self._least[block] < end:
                yield max(low, block * _BLOCK), min(high, (block + 1) * _BLOCK)
