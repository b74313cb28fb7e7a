"""Read the batches of a segment file, checking every one."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from crc32c import crc32c

from eosfw_memory.common.log_errors import LogError
from eosfw_memory.storage.files.segments.file_segment import COVERED_FROM
from eosfw_memory.storage.records.batch import CONTROL, HEADER, LENGTH_END, MAGIC, PLACE, HeaderFields, header_at

Visit: TypeAlias = Callable[[HeaderFields, int, bytes | None], None]
"""Gets a batch's header, its end in the file, and its bytes if it is a control batch: others' are not needed."""

# A look-ahead, so that matches may overlap. The first byte of a leader epoch is 0 below epoch 2^24.
_EPOCH_AND_MAGIC: Final = re.compile(rb"(?=\x00...\x02)", re.DOTALL)
"""What every batch holds between its length and its checksum: it shows where one may begin."""
_EPOCH_AT: Final = 12
_LEAST_LENGTH: Final = HEADER.size - LENGTH_END
"""What a batch without records declares."""
_ANY_OFFSET: Final = -(1 << 63)


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """How far a file holds batches in order."""

    whole: int
    """Bytes up to the end of the last good batch."""
    size: int
    problem: str
    """What is wrong behind them; empty when they fill the file."""
    batch_behind: int | None
    """Where a whole batch follows, so that the problem cannot be the torn end of a last write; else None."""
    unfinished: bool
    """Whether it is the beginning of a batch, which is all that is left of a write when its process is killed."""


@dataclass(frozen=True, slots=True)
class ExpectedBatch:
    """What the next batch of a file has to be."""

    offset: int
    gaps: bool
    """Whether offsets may be missing, as compaction leaves a log."""
    first_epoch: int = 0
    """No batch is of an older leader epoch, nor of one older than a batch before it."""
    last_epoch: int = 0
    """No batch is of a later one: the checksum does not cover it."""
    position: int = 0
    """Where to begin to look."""


def scan(path: Path, due: ExpectedBatch, visit: Visit) -> SegmentScan:
    """Call `visit` with every batch in order, up to the first that is damaged."""
    with _mapped(path) as view:
        at, next_offset = _walk(view, due, visit)
        if at == len(view):
            return SegmentScan(at, at, "", None, unfinished=False)
        return SegmentScan(
            at,
            len(view),
            _problem(view, at, next_offset),
            _whole_batch_from(view, at, next_offset),
            unfinished=_is_unfinished(view, at, next_offset, gaps=due.gaps),
        )


def _walk(view: memoryview, due: ExpectedBatch, visit: Visit) -> tuple[int, int]:
    """Show the good batches; give the position and the offset behind them.

    Flat on purpose: a log of small batches has millions, and each call in here would cost seconds.
    """
    unpack, end, at = HEADER.unpack_from, len(view), due.position
    next_offset, gaps, oldest, latest = due.offset, due.gaps, due.first_epoch, due.last_epoch
    last_start = end - HEADER.size
    while at <= last_start:
        fields = unpack(view, at)
        base_offset, length, epoch, magic, crc, attributes, delta, _, _, _, _, _, records = fields
        behind = at + length + LENGTH_END
        if not (length >= _LEAST_LENGTH and behind <= end and magic == MAGIC and oldest <= epoch <= latest):
            break
        if base_offset != next_offset and (base_offset < next_offset or not gaps):
            break
        if delta < 0 or records < 0:
            break
        if crc32c(view[at + COVERED_FROM : behind]) != crc:
            break
        visit(fields, behind, bytes(view[at:behind]) if attributes & CONTROL else None)
        at, next_offset, oldest = behind, base_offset + delta + 1, epoch
    return at, next_offset


def _problem(view: memoryview, at: int, next_offset: int) -> str:
    """What is wrong with what stands at a position where no good batch does."""
    try:
        header = header_at(view, at)
    except LogError as why:
        return str(why)
    if crc32c(view[at + COVERED_FROM : at + header.size]) != header.crc:
        return "the checksum does not fit"
    if header.base_offset != next_offset:
        return f"offset {header.base_offset} stands where {next_offset} is due"
    return f"a header of leader epoch {header.leader_epoch} with {header.records} records makes no sense"


def _is_unfinished(view: memoryview, at: int, next_offset: int, *, gaps: bool) -> bool:
    """Whether the file ends within the batch that begins at a position; not if that is whole and its length wrong."""
    if len(view) - at < HEADER.size:
        return True
    base_offset, length, _, magic, crc, *_ = HEADER.unpack_from(view, at)
    in_order = base_offset == next_offset or (gaps and base_offset > next_offset)
    is_short = magic == MAGIC and length + LENGTH_END > len(view) - at
    return in_order and is_short and crc32c(view[at + COVERED_FROM :]) != crc


def _whole_batch_from(view: memoryview, at: int, next_offset: int) -> int | None:
    """The position of the first whole batch from `at` on, where the walk stopped; None if there is none.

    A batch at `at` itself is whole if only its leader epoch or its offset made the walk stop. No checksum covers these
    two: whatever the offset says, no torn write left it there.
    """
    if _intact(view, at, _ANY_OFFSET):
        return at
    starts = (found.start() - _EPOCH_AT for found in _EPOCH_AND_MAGIC.finditer(view, at + _EPOCH_AT))
    return next((start for start in starts if _intact(view, start, next_offset)), None)


def _intact(view: memoryview, start: int, next_offset: int) -> bool:
    if len(view) - start < HEADER.size:
        return False
    base_offset, length, _ = PLACE.unpack_from(view, start)
    size = length + LENGTH_END
    if base_offset < next_offset or not HEADER.size <= size <= len(view) - start:
        return False
    crc: int = HEADER.unpack_from(view, start)[4]
    return crc32c(view[start + COVERED_FROM : start + size]) == crc


@contextmanager
def _mapped(path: Path) -> Iterator[memoryview]:
    with path.open("rb") as file:
        # mmap refuses an empty file.
        if not file.seek(0, 2):
            yield memoryview(b"")
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            yield view
