"""Handle malformed lines as configured: fail the task, or count and skip them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from eosfw_file.files.source_file import SourceFile

Notice = Callable[[str, str], None]
"""Takes the kind and the text of a notice."""

CORRECT = "correct the file and give the connector another name"
_SKIP = f"skip such lines with malformed = skip, or {CORRECT}"


@dataclass(frozen=True, slots=True)
class IncompleteRecord:
    """The position of a last record that is incomplete, and why it is."""

    position: int
    what: str


class MalformedLine(Exception):  # noqa: N818 - carries a finding from a format to its reader, never leaves the package
    """The position of a malformed line, and what is wrong with it."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(what)
        self.position = position
        self.what = what


class MalformedLines:
    """Reports the malformed lines of one file by line number; a line that is read twice counts once."""

    def __init__(self, file: SourceFile, notice: Notice | None) -> None:
        self._file = file
        self._notice = notice
        self._counted = (0, 1)
        self._reported_below = 0

    def report_malformed(self, position: int, what: str) -> None:
        """Count the line as skipped, or raise MalformedLine if the task is to fail."""
        if self._notice is None:
            raise MalformedLine(position, what)
        if position >= self._reported_below:
            self._reported_below = position + 1
            self._notice("malformed line", f"{self._place(position)}: {what}; skipped")

    def failure(self, found: MalformedLine, remedy: str = _SKIP) -> DamagedDataError:
        """The error that fails the task."""
        return DamagedDataError(f"{self._place(found.position)}: {found.what}; {remedy}")

    def waiting(self, waiting: IncompleteRecord) -> str:
        """The text of a notice about an incomplete last record."""
        place = self._place(waiting.position)
        return f"{place}: {waiting.what}, so it waits (incomplete.last.line = wait)"

    def _place(self, position: int) -> str:
        self._counted = (position, self._file.line_number(position, self._counted))
        return f"{self._file.path}, line {self._counted[1]}"
