"""Find the files that a log file was renamed or copied to when it was rotated."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

_NUMBER = r"[-._]\d[\dT:._-]*"
_PACKED = r"(?:\.gz|\.zst)?"
_COUNT = re.compile(rf"[-._](\d{{1,4}}){_PACKED}")
_SUFFIXES = (".gz", ".zst")


class RotatedFile(NamedTuple):
    """One file of a log, as it was when it was looked at."""

    path: str
    inode: int
    changed: int
    """The time of its last change, in nanoseconds since 1970."""
    size: int


def rotated_files(path: str) -> list[RotatedFile]:
    """The files beside a path that were rotated from it, the oldest first.

    Their age is the time of their last change, which renaming and packing keep. A packed file beside the one that it is
    made of is left out: it may not be whole yet.
    """
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry in entries if is_rotated(entry.name, name)}
    except OSError:
        return []
    whole = [one for one in names if not (one.endswith(_SUFFIXES) and os.path.splitext(one)[0] in names)]
    found = [file for one in whole if (file := file_now(os.path.join(folder, one))) is not None]
    return sorted(found, key=lambda file: (file.changed, _age(os.path.basename(file.path), name)))


def file_now(path: str) -> RotatedFile | None:
    """A file of a log as it is now; None if there is none under the name."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return RotatedFile(path, status.st_ino, status.st_mtime_ns, status.st_size)


def _age(name: str, of: str) -> tuple[int, str]:
    """What tells the age of files that were changed in one tick of the clock: a greater number, or a lesser date."""
    number = _COUNT.fullmatch(name.removeprefix(of))
    return (0, name) if number is None else (-int(number[1]), name)


def belongs_to_another(name: str, names: Collection[str]) -> bool:
    """Whether a name is one that a file with one of the other names gets by rotation."""
    packed = next((one for one in _SUFFIXES if name.endswith(one)), "")
    plain, suffix = name.removesuffix(packed), os.path.splitext(name.removesuffix(packed))[1]
    for found in re.finditer(r"[-._](?=\d|(?:old|bak|prev)$)", plain):
        base = plain[: found.start()]
        if any(one in names and is_rotated(name, one) for one in (base, base + suffix)):
            return True
    return False


def is_rotated(name: str, of: str) -> bool:
    """Whether a file's name is one that the file `of` gets by rotation: `a.log.1`, `a.log-20261125.gz`, `a-1.log`."""
    return _pattern(of).fullmatch(name) is not None


@lru_cache(maxsize=1000)
def _pattern(name: str) -> re.Pattern[str]:
    stem, suffix = map(re.escape, os.path.splitext(name))
    whole = re.escape(name)
    return re.compile(f"{whole}(?:{_NUMBER}|[.](?:old|bak|prev)){_PACKED}|{stem}{_NUMBER}{suffix}{_PACKED}")
