"""The timeline of a run as a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import typer

if TYPE_CHECKING:
    from eosfw.observe import History

_COLUMNS = 160


@dataclass(frozen=True, slots=True)
class TimelineFile:
    """The file of a run's timeline; its suffix says whether it is a picture or text."""

    path: Path

    @classmethod
    def checked(cls, path: Path | None) -> Self | None:
        """The file of this path, if one is given; BadParameter before anything runs if it cannot be written."""
        if path is None:
            return None
        path = path.absolute()
        if path.suffix not in (".svg", ".txt"):
            raise typer.BadParameter(f"--timeline {path.name}: end its name in .svg (a picture) or .txt (text)")
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise typer.BadParameter(f"--timeline {path}: cannot be written; name a file in a folder that exists")
        return cls(path)

    def write(self, history: History, title: str, print_line: Callable[[str], None]) -> None:
        """Write the file, also for a run that failed; an error is printed and changes nothing else."""
        from eosfw.observe import timeline

        drawn = timeline.svg(history, title=title) if self.path.suffix == ".svg" else self._text(history)
        try:
            self.path.write_text(drawn, encoding="utf-8")
        except OSError as why:
            print_line(f"eosfw: the timeline could not be written to {self.path}: {why.strerror}")
        else:
            print_line(f"eosfw: timeline in {self.path}")

    @staticmethod
    def _text(history: History) -> str:
        from eosfw.observe import timeline

        return timeline.text(history, columns=_COLUMNS) + "\n"
