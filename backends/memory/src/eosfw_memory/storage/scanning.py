"""Walk over the batches of a segment file, believing nothing."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from crc32c import crc32c

from eosfw_memory.log.batch import HEADER, LENGTH_END, PLACE, BatchHeader, header_at
from eosfw_memory.log.errors import LogError
from eosfw_memory.log.segment import LEADER_EPOCH
from eosfw_memory.storage.files import COVERED_FROM

Visit: TypeAlias = Callable[[BatchHeader, memoryview], None]

_EPOCH_AND_MAGIC: Final = b"\x00\x00\x00\x00\x02"
"""What every batch holds between its length and its checksum: it shows where one may begin."""
_EPOCH_AT: Final = 12


@dataclass(frozen=True, slots=True)
class Scanned:
    """How far a file holds batches in order."""

    whole: int
    """Bytes up to the end of the last good batch."""
    size: int
    problem: str
    """What is wrong behind them; empty when they fill the file."""
    batch_behind: int | None
    """Where a whole batch follows after what is wrong, so that it cannot be the torn end of a last write."""


def scan(path: Path, next_offset: int, visit: Visit, *, gaps: bool) -> Scanned:
    """Show every batch in order up to the first that is damaged.

    `gaps` lets offsets be missing, as compaction leaves a log.
    """
    with _mapped(path) as (view, find):
        at, problem = 0, ""
        while at < len(view):
            header, problem = _batch_at(view, at, next_offset, gaps=gaps)
            if header is None:
                break
            visit(header, view[at : at + header.size])
            at, next_offset = at + header.size, header.last_offset + 1
        behind = _whole_batch_behind(view, find, at, next_offset) if problem else None
        return Scanned(at, len(view), problem, behind)


def _batch_at(view: memoryview, at: int, next_offset: int, *, gaps: bool) -> tuple[BatchHeader | None, str]:
    try:
        header = header_at(view, at)
    except LogError as why:
        return None, why.message
    if crc32c(view[at + COVERED_FROM : at + header.size]) != header.crc:
        return None, "the checksum does not fit"
    if header.base_offset < next_offset or (header.base_offset > next_offset and not gaps):
        return None, f"offset {header.base_offset} stands where {next_offset} is due"
    if header.leader_epoch != LEADER_EPOCH or header.last_offset_delta < 0 or header.records < 0:
        return None, f"a header of leader epoch {header.leader_epoch}, {header.records} records makes no sense"
    return header, ""


def _whole_batch_behind(view: memoryview, find: Callable[[bytes, int], int], at: int, next_offset: int) -> int | None:
    found = find(_EPOCH_AND_MAGIC, at + 1 + _EPOCH_AT)
    while found >= 0:
        start = found - _EPOCH_AT
        if _intact(view, start, next_offset):
            return start
        found = find(_EPOCH_AND_MAGIC, found + 1)
    return None


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
def _mapped(path: Path) -> Iterator[tuple[memoryview, Callable[[bytes, int], int]]]:
    with path.open("rb") as file:
        if not file.seek(0, 2):
            yield memoryview(b""), b"".find
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            yield view, mapped.find
