"""The output folder of a step: it is replaced as a whole, so a reader sees either the old rows or the new ones."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from eosfw.errors import StepFailedError

_WRITTEN_BY_SPARK = ("part-*.parquet", "part-*.csv*", "part-*.json*", "_SUCCESS", ".*.crc", "_spark_metadata")


class Output:
    """A step's output folder, with the folders of its next and its previous version beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writing = folder.with_name(f".{folder.name}.writing")
        self._earlier = folder.with_name(f".{folder.name}.earlier")

    def prepare(self) -> Path:
        """Prepare the folder of the next version and return it."""
        if problem := refusal(self.folder):
            raise StepFailedError(problem)
        if self._earlier.exists() and not self.folder.exists():
            self._earlier.rename(self.folder)  # a run was killed between the two moves of `replace`
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.discard()
        return self.writing

    def replace(self) -> None:
        """Replace the output by the next version."""
        shutil.rmtree(self._earlier, ignore_errors=True)
        if self.folder.exists():
            # No rename replaces a folder with files. `prepare` mends what a kill between the two moves leaves.
            self.folder.rename(self._earlier)
        try:
            self.writing.rename(self.folder)
        except OSError:
            if self._earlier.exists():
                self._earlier.rename(self.folder)
            raise
        shutil.rmtree(self._earlier, ignore_errors=True)

    def discard(self) -> None:
        """Delete the next version; the output stays unchanged."""
        shutil.rmtree(self.writing, ignore_errors=True)


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
