"""The output folder of a step: it is replaced as a whole, so a reader sees either the old rows or the new ones."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from eosfw.errors import StepFailedError

_WRITTEN_BY_SPARK = ("part-*.parquet", "part-*.csv*", "part-*.json*", "_SUCCESS", ".*.crc", "_spark_metadata")
_NEXT: Final = "next"
"""The folder of the next version, in the one that is locked: Spark deletes what it is told to overwrite."""


class Output:
    """A step's output folder, with the folders of its next and its previous version beside it.

    The next version is locked until it is the output, or discarded: were it written by two runs at once, the one that
    ends first would take what the other has written so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = folder.with_name(f".{folder.name}.writing")
        self._earlier = folder.with_name(f".{folder.name}.earlier")
        self._lock: ExitStack | None = None

    def prepare(self) -> Path:
        """Prepare the folder of the next version and return it; StepFailedError if another run is writing one."""
        if problem := refusal(self.folder):
            raise StepFailedError(problem)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self._writing)
        if self._lock is None:
            raise StepFailedError(f"output {self.folder} is being written by another run: end that one first")
        if self._earlier.exists() and not self.folder.exists():
            self._earlier.rename(self.folder)  # a run was killed between the two moves of `replace`
        shutil.rmtree(self._writing / _NEXT, ignore_errors=True)  # or before
        return self._writing / _NEXT

    def replace(self) -> None:
        """Replace the output by the next version."""
        shutil.rmtree(self._earlier, ignore_errors=True)
        if self.folder.exists():
            # No rename replaces a folder with files. `prepare` mends what a kill between the two moves leaves.
            self.folder.rename(self._earlier)
        try:
            (self._writing / _NEXT).rename(self.folder)
        except OSError:
            if self._earlier.exists():
                self._earlier.rename(self.folder)
            raise
        shutil.rmtree(self._earlier, ignore_errors=True)
        self.discard()

    def discard(self) -> None:
        """Delete the next version, if this run was writing one; the output stays unchanged."""
        if self._lock is not None:
            shutil.rmtree(self._writing, ignore_errors=True)
            self._lock.close()
            self._lock = None


def _locked(folder: Path) -> ExitStack | None:
    """Make a folder, and lock it until what is returned is closed; None if another run has locked it."""
    while True:
        folder.mkdir(exist_ok=True)
        # Whoever has the lock may just be deleting the folder: that lock is nobody's then.
        with suppress(FileNotFoundError), ExitStack() as opened:
            lock = opened.enter_context((folder / ".lock").open("a"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            except OSError:  # a file system without locks
                return opened.pop_all()
            if os.path.samestat(os.fstat(lock.fileno()), Path(lock.name).stat()):
                return opened.pop_all()


def refusal(folder: Path, also: Sequence[str] = ()) -> str | None:
    """The reason why this folder must not be replaced: only an empty folder, or one with Spark's files only, may be."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        return f"output {folder} is a file; name a folder"
    written = (*_WRITTEN_BY_SPARK, *also)
    foreign = [each for each in folder.iterdir() if not any(each.match(name) for name in written)]
    if not foreign:
        return None
    return f"output {folder} holds {foreign[0].name}, which no step wrote: name a folder of its own"


def begin_stream(folder: Path, *, replaced: bool, also: Sequence[str] = ()) -> None:
    """See that a query whose checkpoint is new finds no rows: those of an earlier one are refused, or `replaced`."""
    if problem := refusal(folder, also):
        raise StepFailedError(problem)
    if not folder.exists():
        return
    if replaced:
        shutil.rmtree(folder)
    elif any(folder.iterdir()):
        raise StepFailedError(
            f"output {folder} holds rows of an earlier query, whose checkpoint is gone: delete it, or name"
            " another output"
        )
