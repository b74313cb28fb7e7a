"""Move or delete files whose last record was committed."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eosfw_file.files.source_file import SourceFile

_REMEDY = "make its folder and after.commit.folder writable, on one file system, or say after.commit = keep"


class CompletedFiles:
    """Takes files out of the way, each at most once, whoever else tries the same.

    A task that was replaced may still be about to move a file when its successor has done so, and when another file has
    the old name already. So nothing is overwritten, and a file is removed only once it has a name that nobody else has,
    under which its inode can be checked.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        """Where files go; None deletes them."""

    def exists(self, path: str) -> bool:
        """Whether there is a file under the name."""
        return os.path.lexists(path)

    def remove(self, file: SourceFile, version: str) -> None:
        """Move or delete the file, if it is still that which was read; DamagedDataError if that is not allowed."""
        del version  # a file that was written to meanwhile is the same one
        path, inode = file.path, file.inode
        with _translated(path, "deleted" if self._folder is None else f"moved to {self._folder}"):
            if self._folder is None:
                _take_away(path, inode, os.path.dirname(path))
                return
            os.makedirs(self._folder, exist_ok=True)
            if _linked(path, inode, self._folder):
                _take_away(path, inode, self._folder)


@contextmanager
def _translated(path: str, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as why:
        raise DamagedDataError(f"{path} was read and cannot be {what}: {why.strerror}; {_REMEDY}") from None


def _linked(path: str, inode: int, folder: str) -> bool:
    """Give the file a second name in the folder, unless it has one there; False if it is not there any more."""
    for target in _targets(path, folder):
        try:
            os.link(path, target)
        except FileNotFoundError:
            return False
        except FileExistsError:
            if _inode(target) == inode:  # from an earlier attempt
                return True
            continue
        if _inode(target) == inode:
            return True
        os.unlink(target)
        return False
    raise AssertionError("there is always another name")


def _targets(path: str, folder: str) -> Iterator[str]:
    """Names for the file: its own, then others if files with that name were moved before."""
    name = Path(path)
    yield os.path.join(folder, name.name)
    number = 0
    while True:
        number += 1
        yield os.path.join(folder, f"{name.stem}-{number}{name.suffix}")


def _take_away(path: str, inode: int, folder: str) -> None:
    """Remove the name of the file, or put back what got it meanwhile."""
    aside = os.path.join(folder, f".{os.path.basename(path)}.{inode}.{os.getpid()}.done")
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return
    if _inode(aside) != inode:
        with suppress(FileExistsError):
            os.link(aside, path)
            os.unlink(aside)
        return
    os.unlink(aside)


def _inode(path: str) -> int:
    return os.lstat(path).st_ino
