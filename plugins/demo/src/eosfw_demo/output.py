"""The folder that the demo writes to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from eosfw.errors import ConfigError, Problem

WITHOUT: Final = "-without-exactly-once"
"""The suffix of files of a run without exactly-once, so that they do not replace the others."""


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """The folder to which the demo writes."""

    output: Path
    keep: bool = False

    def prepare(self) -> None:
        """Create the output folder; ConfigError if that fails."""
        try:
            self.output.mkdir(parents=True, exist_ok=True)
        except OSError as why:
            what = f"cannot make the folder {self.output}: {why.strerror}; name another one with --output"
            raise ConfigError(Problem("--output", what)) from why

    @contextmanager
    def sources(self) -> Iterator[Path]:
        """A folder for the split CSV files; it is removed afterwards unless `keep` is set."""
        if self.keep:
            folder = self.output / "csv"
            folder.mkdir(exist_ok=True)
            yield folder
            return
        with TemporaryDirectory(prefix="eosfw-demo-") as scratch:
            yield Path(scratch)
