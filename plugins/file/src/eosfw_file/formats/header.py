"""Read the header of a CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw_file.formats.csv_rows import IncompleteError, MalformedError, RowReader
from eosfw_file.formats.text_format import ends_of, pieces_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw_file.formats.text_format import TextChunk

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Header:
    """The names of the columns, and the position after the header."""

    names: Sequence[str]
    end: int


def read_header(text: TextChunk, delimiter: str) -> Header | None:
    """The first row of a file; None if it is not complete yet, MalformedError if it cannot be a header."""
    pieces = pieces_of(text)
    ends = ends_of(pieces, text)
    if pieces:
        pieces[0] = pieces[0].removeprefix(BYTE_ORDER_MARK)
    reader, line = RowReader(pieces, 0, delimiter), 0
    while line < len(pieces):
        try:
            names, lines = reader.row()
        except IncompleteError:
            if text.last:
                raise
            return None
        line += lines
        if names:
            _check(names)
            return Header(names, ends[line - 1])
    return None


def _check(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MalformedError(f"the header names {', '.join(map(repr, twice))} more than once; a JSON object cannot")
