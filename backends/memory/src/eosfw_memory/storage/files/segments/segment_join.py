"""Put one file in the place of several segments, as Kafka's log cleaner does.

The new file is whole on the disk before it gets a name that says which offsets it covers. From then on it counts, and
the files that it covers do not, whether or not they are still there; a start finishes what was begun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eosfw_memory.storage.files.disk import DataFile, Disk
from eosfw_memory.storage.files.segments.file_segment import INDEX, LOG, SNAPSHOT, FileSegment, file_name

JOINED: Final = ".joined"
_NAME: Final = re.compile(rf"(\d{{20}})-(\d{{20}}){re.escape(JOINED)}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Joined:
    """A file in the place of all segments that begin within some offsets."""

    path: Path
    base_offset: int
    end_offset: int

    def covers(self, offset: int) -> bool:
        """Whether a segment that begins there is in it."""
        return self.base_offset <= offset < self.end_offset


def joined_in(directory: Path) -> Mapping[int, Joined]:
    """What was begun and not finished, by base offset."""
    names = ((path, _NAME.fullmatch(path.name)) for path in directory.glob(f"*{JOINED}"))
    found = (Joined(path, int(name[1]), int(name[2])) for path, name in names if name is not None)
    return {each.base_offset: each for each in found}


def join(disk: Disk, segments: Sequence[FileSegment], made: FileSegment) -> None:
    """Put a new segment in the place of old ones that follow each other."""
    directory = segments[0].file.path.parent
    name = f"{made.base_offset:020d}-{made.end_offset:020d}{JOINED}"
    disk.sync_file(made.file)
    disk.rename(made.file, directory / name)
    disk.sync_directory(directory)
    finish(disk, made.file, Joined(directory / name, made.base_offset, made.end_offset))
    for segment in segments:
        segment.file.close()


def finish(disk: Disk, file: DataFile, joined: Joined) -> None:
    """Remove the files that a joined file covers, then give it the name of a segment. May be repeated."""
    directory = joined.path.parent
    for path in _covered(joined):
        disk.remove(path)
    disk.sync_directory(directory)  # else one of them might outlive the name that says it does not count
    disk.rename(file, directory / file_name(joined.base_offset, LOG))
    disk.sync_directory(directory)


def _covered(joined: Joined) -> Iterator[Path]:
    """All but what stays in use, or is replaced: a file of the first segment, the state before it."""
    for path in sorted(joined.path.parent.iterdir()):
        about = int(path.stem) if path.suffix in (LOG, INDEX, SNAPSHOT) and path.stem.isdecimal() else -1
        if about != joined.base_offset and joined.covers(about):
            yield path
