"""Replace a folder of parquet files in one move, so that readers and failures meet the old rows or the new ones."""

from __future__ import annotations

import shutil
from pathlib import Path

from eosfw.errors import StepFailedError

_WRITTEN_BY_SPARK = ("*.parquet", "_SUCCESS", ".*.crc", "._SUCCESS.crc")


class Output:
    """A step's output folder, with the places beside it where the next and the last version wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writing = folder.with_name(f".{folder.name}.writing")
        self._earlier = folder.with_name(f".{folder.name}.earlier")

    def prepare(self) -> Path:
        """Make room beside the output and return where to write."""
        if problem := refusal(self.folder):
            raise StepFailedError(problem)
        if self._earlier.exists() and not self.folder.exists():
            self._earlier.rename(self.folder)  # a run was killed between the two moves of `replace`
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.discard()
        return self.writing

    def replace(self) -> None:
        """Put what was written in the place of the output."""
        shutil.rmtree(self._earlier, ignore_errors=True)
        if self.folder.exists():
            self.folder.rename(self._earlier)
        try:
            self.writing.rename(self.folder)
        except OSError:
            if self._earlier.exists():
                self._earlier.rename(self.folder)
            raise
        shutil.rmtree(self._earlier, ignore_errors=True)

    def discard(self) -> None:
        """Drop what was written; the output stays as it was."""
        shutil.rmtree(self.writing, ignore_errors=True)


def refusal(folder: Path) -> str | None:
    """Why this folder must not be replaced: only an empty one, or parquet alone, may be."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        return f"output {folder} is a file; name a folder"
    foreign = [
        each for each in folder.iterdir() if each.is_dir() or not any(each.match(name) for name in _WRITTEN_BY_SPARK)
    ]
    if not foreign:
        return None
    return f"output {folder} holds {foreign[0].name}, which no step wrote: name a folder of its own"


def rows(folder: Path) -> int:
    """Count the rows of a folder of parquet files by their footers, without reading a row."""
    from pyarrow import parquet

    return sum(parquet.read_metadata(file).num_rows for file in sorted(folder.glob("*.parquet")))
