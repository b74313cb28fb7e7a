"""Damage a file of a data directory as disks do, so that what was written can be put back."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from eosfw_memory.storage.files.segments.file_segment import INDEX, LOG, SNAPSHOT

_OF_PARTITIONS: Final = (LOG, INDEX, SNAPSHOT)
_BLOCK: Final = 512
"""Bytes of a sector, which a disk writes or loses as a whole."""


class Damage(NamedTuple):
    """Bytes of a file that were replaced, with what stood there."""

    path: Path
    at: int
    before: bytes

    def undo(self) -> None:
        """Restore the bytes, as from a copy."""
        _write(self.path, self.at, self.before)


def damage(root: Path, file: str, how: str, random: Random) -> Damage | None:
    """Damage a file of a partition, or one by its name, by a `bit`, `zeros` or an `old` block; None without a file."""
    found = root.glob(f"*/*.{file}" if f".{file}" in _OF_PARTITIONS else file)
    paths = [path for path in sorted(found) if path.stat().st_size]
    if not paths:
        return None
    path = paths[int(random.random() * len(paths))]
    content = path.read_bytes()
    at = int(random.random() * len(content))
    before = content[at : at + (1 if how == "bit" else _BLOCK)]
    if how == "bit":
        after = bytes([before[0] ^ (1 << int(random.random() * 8))])
    else:
        after = bytes(len(before)) if how == "zeros" else content[: len(before)]
    _write(path, at, after)
    return Damage(path, at, before)


def _write(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)
