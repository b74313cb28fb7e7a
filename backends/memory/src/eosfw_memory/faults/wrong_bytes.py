"""Damage a file of a data directory as disks do, so that what was written can be put back."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from eosfw_memory.storage.files.segments.file_segment import INDEX, LOG, SNAPSHOT
from eosfw_memory.storage.records.batch import LENGTH_END, PLACE

_OF_PARTITIONS: Final = (LOG, INDEX, SNAPSHOT)


class Damage(NamedTuple):
    """Bytes of a file that were replaced, with what stood there."""

    path: Path
    at: int
    before: bytes

    def undo(self) -> None:
        """Restore the bytes, as from a copy."""
        _write(self.path, self.at, self.before)


def damage(root: Path, file: str, how: str, random: Random) -> Damage | None:
    """Damage a file of a partition, or one by its name: a flipped `bit`, `zeros`, or an `old` block; None without one.

    Of a log only batches are damaged that have another one behind: a damaged last batch of the newest segment is what a
    write leaves that was cut short.
    """
    found = root.glob(f"*/*.{file}" if f".{file}" in _OF_PARTITIONS else file)
    sizes = {path: _damageable(path) for path in sorted(found)}
    newest = {path.parent: path for path in sizes}  # damage in an older segment shows when it is read
    paths = [path for path, size in sizes.items() if size and (path.suffix != LOG or path is newest[path.parent])]
    if not paths:
        return None
    path = paths[int(random.random() * len(paths))]
    content, at = path.read_bytes(), int(random.random() * sizes[path])
    before = content[at : at + 1] if how == "bit" else content[at : min(at + 512, sizes[path])]
    if how == "bit":
        after = bytes([before[0] ^ (1 << int(random.random() * 8))])
    else:
        after = bytes(len(before)) if how == "zeros" else content[: len(before)]
    _write(path, at, after)
    return Damage(path, at, before)


def _damageable(path: Path) -> int:
    """How many of the first bytes of a file may be damaged."""
    content = path.read_bytes()
    if path.suffix != LOG:
        return len(content)
    at = last = 0
    while at + LENGTH_END <= len(content):
        last = at
        at += PLACE.unpack_from(content, at)[1] + LENGTH_END
    return last


def _write(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)
