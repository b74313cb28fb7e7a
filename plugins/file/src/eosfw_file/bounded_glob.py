"""Expand a glob within bounded time, whatever links and devices lie below it."""

from __future__ import annotations

import glob
import heapq
import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate

MAX_NAMES = 1_000_000
"""Names that one pattern may have to look at."""
_KERNELS = ("/proc", "/sys")


class TooManyNamesError(Exception):
    """A pattern that goes over more names than `MAX_NAMES`."""


def expand(pattern: str) -> Iterator[str]:
    """Yield the paths, folders left out, that `glob.glob(recursive=True)` would find for an absolute pattern.

    Unlike there, `**` comes into each folder once: where links lead to a folder in several ways, by its own name if
    that lies below the pattern. It does not go into what the kernel makes up.
    """
    anchor, _, rest = pattern.partition(os.sep)
    for path in _Expansion().paths(anchor + os.sep, [part for part in rest.split(os.sep) if part]):
        if not os.path.isdir(path):
            yield path


def is_kind(kind: Callable[[], bool]) -> bool:
    """Whether an entry of a folder is of a kind; a link that leads to itself is of none."""
    try:
        return kind()
    except OSError:
        return False


def kernel_devices() -> set[int]:
    """The file systems whose files the kernel makes up as they are read."""
    return {os.stat(path).st_dev for path in _KERNELS if os.path.ismount(path)}


class _Expansion:
    """One look at the file system."""

    def __init__(self) -> None:
        self._left = MAX_NAMES
        self._kernel = kernel_devices()

    def paths(self, folder: str, parts: Sequence[str]) -> Iterator[str]:
        """Whatever below a folder matches all parts of a pattern."""
        if not parts:
            yield folder
            return
        first, rest = parts[0], parts[1:]
        if first == "**":
            for inner in self._tree(folder):
                yield from self.paths(inner, rest or ["*"])
        elif glob.has_magic(first):
            matches = re.compile(translate(first)).match
            for entry in self._entries(folder, hidden=first.startswith(".")):
                if matches(entry.name) and (not rest or is_kind(entry.is_dir)):
                    yield from self.paths(entry.path, rest)
        elif os.path.lexists(path := os.path.join(folder, first)):
            yield from self.paths(path, rest)

    def _tree(self, folder: str) -> Iterator[str]:
        """A folder and all that lie below it: first those that need no link, then the others by the first link."""
        seen: set[tuple[int, int]] = set()
        own, linked = [folder], list[str]()
        while own or linked:
            here = own.pop() if own else heapq.heappop(linked)
            if (identity := self._identity(here)) is None or identity in seen:
                continue
            seen.add(identity)
            yield here
            for entry in self._entries(here, hidden=False):
                if not is_kind(entry.is_dir):
                    continue
                if entry.is_symlink():
                    heapq.heappush(linked, entry.path)
                else:
                    own.append(entry.path)

    def _identity(self, folder: str) -> tuple[int, int] | None:
        try:
            found = os.stat(folder)
        except OSError:
            return None
        return None if found.st_dev in self._kernel else (found.st_dev, found.st_ino)

    def _entries(self, folder: str, *, hidden: bool) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                found = [entry for entry in entries if hidden or not entry.name.startswith(".")]
        except OSError:  # no folder, or one that may not be read: nothing in it matches
            return
        self._left -= len(found)
        if self._left < 0:
            raise TooManyNamesError
        yield from found
