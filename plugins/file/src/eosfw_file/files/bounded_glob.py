"""Expand a glob within bounded time, whatever links and devices lie below it."""

from __future__ import annotations

import glob
import heapq
import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import cache

MAX_NAMES = 1_000_000
"""The names that the expansion of one pattern may look at."""
_KERNELS = ("/proc", "/sys")


class TooManyNamesError(Exception):
    """A pattern needs to look at more names than `MAX_NAMES`."""


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
    """The answer of `is_file` or `is_dir` of an entry; False for a link that leads to itself."""
    try:
        return kind()
    except OSError:
        return False


@cache
def kernel_devices() -> frozenset[int]:
    """The devices of /proc and /sys, whose files the kernel creates while they are read; asked once by a process."""
    return frozenset(os.stat(path).st_dev for path in _KERNELS if os.path.ismount(path))


class _Expansion:
    """One expansion, with the names that it may still look at."""

    def __init__(self) -> None:
        self._left = MAX_NAMES
        self._kernel = kernel_devices()

    def paths(self, folder: str, parts: Sequence[str]) -> Iterator[str]:
        """The paths below a folder that match all parts of a pattern."""
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
        """A folder and all folders below it: first those reached without a link, then the others, each once."""
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
        except OSError:  # not a folder, or not readable: nothing in it matches
            return
        self._left -= len(found)
        if self._left < 0:
            raise TooManyNamesError
        yield from found
