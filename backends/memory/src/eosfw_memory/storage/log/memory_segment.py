"""Batches in memory, and in a temporary file once the broker's memory for them is used up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from eosfw_memory.storage.log.log_memory import LogMemory
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.log.spill_file import SpillFile
from eosfw_memory.storage.records.batch import LENGTH_END, PLACE, Buffer, header_at


class MemorySegment(Segment):
    """Batches of which nothing stays when the process ends.

    In memory a batch stays the object that its producer sent: copying 100 kB into fresh memory costs ten times their
    checksum. A read puts the offset that the append gave to the batch in front of the rest of it. From the first batch
    on for which `memory` has no room, all go to a file, so that what a fetch wants of it is read at once.
    """

    def __init__(self, base_offset: int, memory: LogMemory) -> None:
        super().__init__(base_offset)
        self._memory = memory
        self._batches: list[bytes] = []
        """Those in memory, which come before those in the file."""
        self._bytes_in_memory = 0
        self._file: SpillFile | None = None

    def append(self, batch: bytes, records: int, newest: int) -> int:
        base_offset = self.end_offset
        self._keep(batch)
        self.index_batch(base_offset, records, self.size + len(batch), newest)
        return base_offset

    def append_stamped(self, batch: bytes) -> None:
        """Add a batch that has its offset already."""
        self._keep(batch)
        self.index_stamped_batch(header_at(batch, 0), self.size + len(batch))

    def delete(self) -> None:
        """Give back what its batches take."""
        self._memory.give_back(self._bytes_in_memory)
        self._batches, self._bytes_in_memory = [], 0
        self.close()

    def close(self) -> None:
        """Close the file: what is in it cannot be read any more."""
        if self._file is not None:
            self._file.close()

    def bytes_of(self, first: int, last: int) -> bytes:
        return b"".join(self.pieces_of(first, last))

    def pieces_of(self, first: int, last: int) -> Sequence[Buffer]:
        pieces: list[Buffer] = []
        several, epoch = len(self.epochs) > 1, self.leader_epoch
        for at, batch in enumerate(self._kept(first, last), first):
            if several:
                epoch = self.epoch_of(at)
            # The checksum does not cover these fields: stamping them costs no second one.
            pieces.append(PLACE.pack(self.base_offsets[at], len(batch) - LENGTH_END, epoch))
            pieces.append(memoryview(batch)[PLACE.size :])
        return pieces

    def _keep(self, batch: bytes) -> None:
        if self._file is None:
            if self._memory.take(len(batch)):
                self._batches.append(batch)
                self._bytes_in_memory += len(batch)
                return
            self._file = SpillFile()
        self._file.write(batch, self.size - self._bytes_in_memory)

    def _kept(self, first: int, last: int) -> Sequence[Buffer]:
        """The batches from number `first` up to but not including `last`, as they were appended."""
        in_memory = self._batches[first:last]
        first += len(in_memory)
        if self._file is None or first >= last:
            return in_memory
        bounds = [self.ends[first - 1] if first else 0, *self.ends[first:last]]
        data = memoryview(self._file.read(bounds[0] - self._bytes_in_memory, bounds[-1] - self._bytes_in_memory))
        return [*in_memory, *(data[start - bounds[0] : end - bounds[0]] for start, end in pairwise(bounds))]
