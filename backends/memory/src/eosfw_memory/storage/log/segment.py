"""Batches in order, found by offset, by size, by time. Kafka's `LogSegment` with its indexes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from eosfw_memory.storage.log.leader_epochs import NO_LEADER, EpochStart, following
from eosfw_memory.storage.records.batch import NO_TIMESTAMP, Buffer, HeaderFields, header_at


class Segment(ABC):
    """Batches in order; a subclass keeps their bytes."""

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.size = 0
        """Bytes of all batches."""
        self.max_timestamp = NO_TIMESTAMP
        """The largest timestamp of all batches."""
        self.sparse = False
        """Whether offsets are missing, as compaction leaves a log."""
        self.base_offsets = array("q")
        self.ends = array("q")
        """Bytes up to the end of each batch."""
        self.newest = array("q")
        """The largest timestamp up to each batch: rising, hence fit for bisection."""
        self.leader_epoch = NO_LEADER
        """The leader epoch of the next batch."""
        self.epochs: list[EpochStart] = []
        """The leader epochs of all batches, the first from the beginning of the segment on."""

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def kept_size(self) -> int:
        """How many bytes a start need not read, since a checkpoint covers them."""
        return 0

    @abstractmethod
    def append(self, batch: bytes, records: int, newest: int) -> int:
        """Append a batch of `records` records, none newer than `newest`; give its base offset.

        Raises KafkaStorageError, with nothing changed, when it cannot be kept.
        """

    @abstractmethod
    def bytes_of(self, first: int, last: int) -> bytes:
        """The batches from number `first` up to but not including `last`, stamped with their offsets."""

    def pieces_of(self, first: int, last: int) -> Sequence[Buffer]:
        """The bytes of `bytes_of`, in pieces that need no copy."""
        return (self.bytes_of(first, last),)

    def assign_epoch(self, epoch: int) -> None:
        """Stamp further batches with a leader epoch."""
        if self.epochs and self.epochs[-1].start_offset == self.end_offset:
            self.epochs.pop()  # nothing was written in it
        if not self.epochs or self.epochs[-1].epoch != epoch:
            self.epochs.append(EpochStart(epoch, self.end_offset))
        self.leader_epoch = epoch

    def take_epochs_of(self, segments: Sequence[Segment]) -> None:
        """Take over the leader epochs of the segments that this one replaces."""
        self.epochs = list(following(segment.epochs for segment in segments))
        self.leader_epoch = segments[-1].leader_epoch

    def epoch_of(self, number: int) -> int:
        """The leader epoch of a batch by its number."""
        at = bisect_right(self.epochs, self.base_offsets[number], key=attrgetter("start_offset")) - 1
        return self.epochs[at].epoch

    def index_batch(self, base_offset: int, records: int, end: int, newest: int) -> None:
        """Add a batch, which ends at byte `end` of the segment, to the indexes, behind all others."""
        if newest > self.max_timestamp:  # noqa: PLR1730 (a call for each batch would cost a start a second)
            self.max_timestamp = newest
        self.newest.append(self.max_timestamp)
        self.size = end
        self.ends.append(end)
        self.base_offsets.append(base_offset)
        self.end_offset = base_offset + records

    def index_stamped_batch(self, header: HeaderFields, end: int) -> None:
        """Add a batch that has its offset already to the indexes; offsets may be missing before it."""
        base_offset, _, epoch, _, _, _, delta, _, newest, _, _, _, _ = header
        if base_offset != self.end_offset:
            self.sparse = True
        if epoch != self.leader_epoch:
            self.assign_epoch(epoch)
        self.index_batch(base_offset, delta + 1, end, newest)

    def read(self, offset: int, end: int, max_bytes: int) -> tuple[Sequence[Buffer], int]:
        """The batches from the one that holds `offset` to the last below `end`, with the offset behind them.

        As many as `max_bytes` allow, but the first whatever its size (KIP-74).
        """
        limit = bisect_left(self.base_offsets, end)
        first = self._from(offset)
        if offset >= end or first >= limit:
            return (), offset
        # `ends` counts from the start of the segment, hence so must the limit.
        room = (self.ends[first - 1] if first else 0) + max_bytes
        last = min(max(bisect_right(self.ends, room, first, limit), first + 1), limit)
        behind = self.base_offsets[last] if last < len(self.ends) else self.end_offset
        return self.pieces_of(first, last), behind

    def batches_since(self, timestamp: int) -> Iterator[bytes]:
        """The batches from the first on that has a record which is not older."""
        return (self.bytes_of(at, at + 1) for at in range(bisect_left(self.newest, timestamp), len(self.ends)))

    def batches(self) -> Iterator[bytes]:
        """Every batch, in order."""
        return (self.bytes_of(at, at + 1) for at in range(len(self.ends)))

    def _from(self, offset: int) -> int:
        """The number of the first batch that ends at or behind `offset`."""
        at = bisect_right(self.base_offsets, offset) - 1
        if at < 0:
            return 0
        # Only where offsets are missing can a batch end before an offset that its successor begins behind.
        if self.sparse and header_at(self.bytes_of(at, at + 1), 0).last_offset < offset:
            return at + 1
        return at
