"""The positions of a read of offset ranges (the positions in the Java consumer's `SubscriptionState`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from eosfw.errors import ReadStalledError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange

__all__ = ["ReadProgress", "slices_alike"]


class ReadProgress:
    """The partitions of a read that have not reached their ends yet; empty ranges are left out."""

    def __init__(self, ranges: Mapping[TopicPartition, OffsetRange]) -> None:
        left = {one: offsets for one, offsets in ranges.items() if offsets.start < offsets.end}
        self._ends = {one: offsets.end for one, offsets in left.items()}
        self.positions = {one: offsets.start for one, offsets in left.items()}
        """The next offset of each partition."""

    def advance(self, one: TopicPartition, position: int | None) -> bool:
        """Note a position, None if it is unknown; return whether the read advanced."""
        known = self.positions.get(one)
        if known is None or position is None or position <= known:
            return False
        self.positions[one] = position
        return True

    def finished(self) -> list[TopicPartition]:
        """Remove and return the partitions that have reached their ends."""
        # At or beyond: behind the last record there may be control records, which move a position past the end.
        reached = [one for one, position in self.positions.items() if position >= self._ends[one]]
        for one in reached:
            del self.positions[one]
        return reached

    def end(self, one: TopicPartition) -> int:
        """The offset before which the read of a partition stops."""
        return self._ends[one]

    def stalled(self, what: str, waited: float, hint: str = "") -> ReadStalledError:
        """The error of a read that has not advanced for `waited` seconds; `what` names the read."""
        where = ", ".join(f"{one} at offset {at} of {self._ends[one]}" for one, at in self.positions.items())
        return ReadStalledError(
            f"{what}: nothing came for {waited:g} s; waiting for {where}; "
            f"an open transaction holds back read_committed{hint}",
            waiting=[(*one, at) for one, at in self.positions.items()],
        )


def slices_alike(types: Sequence[object]) -> Iterator[slice]:
    """The slices of consecutive records that have one type of timestamps, as a `LogBatch` needs them."""
    if types.count(types[0]) == len(types):  # much faster than to group them
        yield slice(len(types))
        return
    start = 0
    for _, run in groupby(types):
        end = start + sum(1 for _ in run)
        yield slice(start, end)
        start = end
