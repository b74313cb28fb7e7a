"""Hold appended batches so that they are found by offset, by size, by time."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from eosfw_memory.log.batch import LENGTH_END, PLACE


class Segment:
    """A run of batches.

    A batch stays the very bytes its producer sent: copying 100 kB into fresh memory costs ten times their checksum. The
    offset it got is written into the copy that a read makes anyway.
    """

    def __init__(self, base_offset: int, leader_epoch: int) -> None:
        self.end_offset = base_offset
        self._leader_epoch = leader_epoch
        self._batches: list[bytes] = []
        self._base_offsets = array("q")
        self._ends = array("q")
        """Bytes up to the end of each batch."""
        self._newest = array("q")
        """The largest timestamp up to each batch: rising, hence fit for bisection."""

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self._ends[-1] if self._ends else 0

    @property
    def max_timestamp(self) -> int | None:
        return self._newest[-1] if self._newest else None

    def append(self, batch: bytes, records: int, newest: int) -> int:
        """Add a batch of so many records, none newer than `newest`, behind all others; give its base offset."""
        base_offset = self.end_offset
        if self._batches:
            self._ends.append(self._ends[-1] + len(batch))
            self._newest.append(max(newest, self._newest[-1]))
        else:
            self._ends.append(len(batch))
            self._newest.append(newest)
        self._base_offsets.append(base_offset)
        self._batches.append(batch)
        self.end_offset = base_offset + records
        return base_offset

    def read(self, offset: int, end: int, max_bytes: int) -> tuple[bytes, int]:
        """The batches from the one that holds `offset` to the last below `end`, with the offset behind them.

        As many as `max_bytes` allow, but the first whatever its size (KIP-74).
        """
        first = bisect_right(self._base_offsets, offset) - 1
        limit = bisect_left(self._base_offsets, end)
        if offset >= end or first < 0 or first >= limit:
            return b"", offset
        room = self._ends[first] - len(self._batches[first]) + max_bytes
        last = min(max(bisect_right(self._ends, room, first, limit), first + 1), limit)
        behind = self._base_offsets[last] if last < len(self._batches) else self.end_offset
        return b"".join(self._pieces(first, last)), behind

    def at_or_after(self, timestamp: int) -> bytes | None:
        """The first batch with a record that is not older."""
        at = bisect_left(self._newest, timestamp)
        return b"".join(self._pieces(at, at + 1)) if at < len(self._batches) else None

    def batches(self) -> Iterator[bytes]:
        """Every batch, in order."""
        return (b"".join(self._pieces(at, at + 1)) for at in range(len(self._batches)))

    def _pieces(self, first: int, last: int) -> Iterator[bytes | memoryview]:
        for at in range(first, last):
            batch = self._batches[at]
            yield PLACE.pack(self._base_offsets[at], len(batch) - LENGTH_END, self._leader_epoch)
            yield memoryview(batch)[PLACE.size :]
