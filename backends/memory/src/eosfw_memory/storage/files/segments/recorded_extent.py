"""Find out from indexes and snapshots how much the newest segment of a partition held at least."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eosfw_memory.storage.files.checksummed_file import LogFingerprint, decode_checksummed, decode_framed
from eosfw_memory.storage.files.segments.file_log_storage import FileLogStorage
from eosfw_memory.storage.files.segments.file_segment import INDEX, SNAPSHOT
from eosfw_memory.storage.files.segments.producer_snapshot import KIND as SNAPSHOT_KIND
from eosfw_memory.storage.files.segments.segment_index import KIND as INDEX_KIND


class RecordedExtent(NamedTuple):
    """How much of a segment existed, in bytes and up to an offset, when `file` was made from it."""

    base_offset: int
    size: int
    end_offset: int
    file: str


def recorded_extent(log_storage: FileLogStorage, newest: int) -> RecordedExtent | None:
    """The largest extent of the newest segment, or of one behind it that is missing, by the files beside them.

    Older segments need none: each has to end where the next begins, and compaction makes them smaller.
    """
    return max(
        (
            RecordedExtent(each.base_offset, each.size, each.end_offset, name)
            for name, each in _witnesses(log_storage, newest)
            if each.base_offset >= newest
            and (each.topic_id, each.partition) == (log_storage.topic_id, log_storage.partition)
        ),
        default=None,
    )


def _witnesses(log_storage: FileLogStorage, newest: int) -> Iterator[tuple[str, LogFingerprint]]:
    for path in log_storage.directory.iterdir():
        if not path.stem.isdecimal() or int(path.stem) < newest:
            continue
        if path.suffix == INDEX:
            yield from ((path.name, each) for each in _parts(path.read_bytes()) if each.base_offset == int(path.stem))
        elif path.suffix == SNAPSHOT:
            found = decode_checksummed(SNAPSHOT_KIND, path.read_bytes())
            if found is not None and found[0].end_offset == int(path.stem):
                yield path.name, found[0]


def _parts(index: bytes) -> Iterator[LogFingerprint]:
    view, at = memoryview(index), 0
    while (found := decode_framed(INDEX_KIND, view, at)) is not None:
        yield found[0]
        at = found[2]
