"""Answer to malformed lines as the user asked: fail the task, or count and skip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from eosfw_file.source_file import SourceFile

Notice = Callable[[str, str], None]
"""Takes a kind and a text."""

REMEDY = "skip such lines with malformed = skip, or correct the file and give the connector another name"


@dataclass(frozen=True, slots=True)
class IncompleteRecord:
    """Where a last record begins that is not whole, and why it is not."""

    position: int
    what: str


class MalformedLine(Exception):  # noqa: N818 - carries a finding from a format to its reader, never leaves the package
    """Where a malformed line begins, and what is wrong with it."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(what)
        self.position = position
        self.what = what


class MalformedLines:
    """Names the line of a finding. Lines read again are counted once."""

    def __init__(self, file: SourceFile, notice: Notice | None) -> None:
        self._file = file
        self._notice = notice
        self._counted = (0, 1)
        self._reported_below = 0

    @property
    def skips(self) -> bool:
        """Whether malformed lines are skipped."""
        return self._notice is not None

    def report_malformed(self, position: int, what: str) -> None:
        """Count the line as skipped, or raise MalformedLine if the task is to fail."""
        if self._notice is None:
            raise MalformedLine(position, what)
        if position >= self._reported_below:
            self._reported_below = position + 1
            self._notice("malformed line", f"{self._place(position)}: {what}; skipped")

    def failure(self, found: MalformedLine) -> DamagedDataError:
        """What the task fails with."""
        return DamagedDataError(f"{self._place(found.position)}: {found.what}; {REMEDY}")

    def waiting(self, waiting: IncompleteRecord) -> str:
        """Name a last record that is not whole."""
        place = self._place(waiting.position)
        return f"{place}: {waiting.what}, so it waits (incomplete.last.line = wait)"

    def _place(self, position: int) -> str:
        self._counted = (position, self._file.line_number(position, self._counted))
        return f"{self._file.path}, line {self._counted[1]}"
