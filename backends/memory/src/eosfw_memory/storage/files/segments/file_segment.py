"""Batches in a file with Kafka's name and Kafka's bytes. Kafka's `FileRecords`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from crc32c import crc32c

from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.storage.files.disk import DataFile, Disk
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.records.batch import LENGTH_END, MAGIC, PLACE

LOG: Final = ".log"
INDEX: Final = ".index"
SNAPSHOT: Final = ".snapshot"
COVERED_FROM: Final = 21
"""Where the part of a batch begins that its checksum covers."""
_UNCOVERED: Final = struct.Struct(">qiib")
"""Offset, size, leader epoch, format: what comes before the checksum, which does not cover it."""
_CRC: Final = struct.Struct(">I")
_CRC_AT: Final = 17


def file_name(offset: int, suffix: str) -> str:
    """The name of a file about the batches from an offset on, or of the state before it."""
    return f"{offset:020d}{suffix}"


def declared_crc(batch: bytes | memoryview) -> int:
    """The checksum in a batch's header."""
    crc: int = _CRC.unpack_from(batch, _CRC_AT)[0]
    return crc


class FileSegment(Segment):
    """Batches in a file; their positions are in memory."""

    def __init__(self, base_offset: int, directory: Path, disk: Disk) -> None:
        super().__init__(base_offset)
        self.file = DataFile(directory / file_name(base_offset, LOG))
        self.indexed = 0
        """How many batches its index file covers, which has `index_size` bytes."""
        self.index_size = 0
        self.snapshot_at: int | None = None
        """The offset, within the segment or at its end, of its latest snapshot."""
        self._disk = disk

    @property
    def kept_size(self) -> int:
        return self.ends[self.indexed - 1] if self.indexed else 0

    def append(self, batch: bytes, records: int, newest: int) -> int:
        base_offset = self.end_offset
        place = PLACE.pack(base_offset, len(batch) - LENGTH_END, self.leader_epoch)
        self._write((place, memoryview(batch)[PLACE.size :]))
        self.index_batch(base_offset, records, self.size + len(batch), newest)
        return base_offset

    def bytes_of(self, first: int, last: int) -> bytes:
        start, end = self.ends[first - 1] if first else 0, self.ends[last - 1]
        if not 0 <= start <= end <= self.size:
            raise self._damaged(first, start)
        data = self.file.read(end - start, start)
        self._check(data, first, last, start)
        return data

    def last_crc(self) -> int:
        """The checksum that the last batch declares; 0 without batches."""
        if not self.ends:
            return 0
        start = self.ends[-2] if len(self.ends) > 1 else 0
        header = self.file.read(COVERED_FROM, start)
        return declared_crc(header) if len(header) == COVERED_FROM else 0

    def _write(self, pieces: Sequence[bytes | memoryview]) -> None:
        self._disk.write(self.file, pieces, self.size)
        # The first write makes the file, so its name has to be on the disk as well.
        if not self.size and self._disk.waits:
            self._disk.sync_directory(self.file.path.parent)

    def _check(self, data: bytes, first: int, last: int, start: int) -> None:
        """Raise CorruptMessageError unless these bytes are the batches that were written."""
        view = memoryview(data)
        for at in range(first, last):
            begin, end = (self.ends[at - 1] if at else 0) - start, self.ends[at] - start
            expected = (self.base_offsets[at], end - begin - LENGTH_END, self.epoch_of(at), MAGIC)
            whole = 0 <= begin <= end - COVERED_FROM and end <= len(data)
            whole = whole and _UNCOVERED.unpack_from(data, begin) == expected
            if not whole or declared_crc(view[begin:end]) != crc32c(view[begin + COVERED_FROM : end]):
                raise self._damaged(at, begin + start)

    def _damaged(self, at: int, byte: int) -> CorruptMessageError:
        message = (
            f"{self.file.path}: the batch at byte {byte} (offset {self.base_offsets[at]}) is damaged: "
            "stop the broker and restore the file from a copy"
        )
        self._disk.report("damage", self.file.path.parent, message)
        return CorruptMessageError(message)
