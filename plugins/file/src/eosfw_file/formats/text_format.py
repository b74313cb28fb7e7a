"""What every format has in common: it takes whole lines and gives records with the position after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from eosfw.data import Schema

NEWLINE = b"\n"


@dataclass(frozen=True, slots=True)
class TextChunk:
    """Whole lines of a file and the position they begin at; only the last one may lack its newline.

    `last` says that the file ends behind them for now.
    """

    start: int
    data: bytes
    last: bool

    @property
    def end(self) -> int:
        """The position after the text."""
        return self.start + len(self.data)


@dataclass(frozen=True, slots=True)
class ParsedRecords:
    """Records as columns: the values, and the position in the file after each.

    Everything before `next` is done with; a record that begins there needs more text.
    """

    values: Sequence[Any]
    ends: Sequence[int]
    next: int


ReportMalformed = Callable[[int, str], None]
"""Takes the position of a malformed line and what is wrong with it; raises, or counts the line as skipped."""


class Format(Protocol):
    """Turns lines into records."""

    @property
    def schema(self) -> Schema | None:
        """That of the records, if they have one."""

    def parse(self, text: TextChunk, report_malformed: ReportMalformed) -> ParsedRecords:
        """The records of the text, in order."""


def pieces_of(text: TextChunk) -> list[bytes]:
    r"""The lines of a text without their \n; a carriage return stays."""
    data = text.data
    return (data[:-1] if data.endswith(NEWLINE) else data).split(NEWLINE) if data else []


def ends_of(pieces: Sequence[bytes], text: TextChunk) -> list[int]:
    """The position after each line of a text and its newline."""
    ends = [end + newlines for newlines, end in enumerate(accumulate(map(len, pieces)), start=text.start + 1)]
    if ends:
        ends[-1] = text.end  # the last newline may be missing
    return ends


def without_returns(pieces: list[bytes], text: TextChunk) -> list[bytes]:
    r"""The lines without the \r before their \n."""
    if b"\r" not in text.data:
        return pieces
    return [piece[:-1] if piece.endswith(b"\r") else piece for piece in pieces]
