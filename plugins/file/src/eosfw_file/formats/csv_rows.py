"""The CSV format: a record for each row, which may hold quoted newlines."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from eosfw_file.formats.json_objects import JsonObjects, is_plain
from eosfw_file.formats.text_format import NEWLINE, ParsedRecords, ends_of, pieces_of, without_returns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eosfw_file.formats.text_format import ReportMalformed, TextChunk

MAX_VALUE_BYTES = 1 << 26


class MalformedError(Exception):
    """A row cannot be read; the text says why."""


class IncompleteError(MalformedError):
    """A quoted value does not end within the text."""


class RowReader:
    """Reads rows from a given line on, with the number of lines of each."""

    def __init__(self, pieces: Sequence[bytes], first: int, delimiter: str) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), MAX_VALUE_BYTES))
        self._exhausted = False
        self._reader = csv.reader(self._feed(pieces, first), delimiter=delimiter, strict=True)

    def row(self) -> tuple[list[str], int]:
        """The next row and its number of lines."""
        before = self._reader.line_num
        try:
            row = next(self._reader)
        except csv.Error as why:
            if self._exhausted:
                raise IncompleteError("a quote that is never closed") from None
            raise MalformedError(f"a quote that is not closed, or a stray one ({why})") from None
        except UnicodeDecodeError as why:
            raise MalformedError(f"not UTF-8 (byte {why.start + 1} of the line)") from None
        return row, self._reader.line_num - before

    def _feed(self, pieces: Sequence[bytes], first: int) -> Iterator[str]:
        for index in range(first, len(pieces)):
            yield pieces[index].decode() + "\n"
        self._exhausted = True


class Rows:
    """A record for each row: a JSON object of it, or its text unchanged; blank lines are not records."""

    schema = None

    def __init__(self, header: Sequence[str], delimiter: str, *, raw: bool) -> None:
        self._columns = len(header)
        self._delimiter = delimiter
        self._objects = None if raw else JsonObjects(header, delimiter)

    def parse(self, text: TextChunk, report_malformed: ReportMalformed) -> ParsedRecords:
        pieces = pieces_of(text)
        ends = ends_of(pieces, text)
        plain = self._plain(without_returns(pieces, text), text)
        if plain is not None:
            return ParsedRecords(plain, ends, text.end)
        return self._by_rows(pieces, ends, text, report_malformed)

    def _plain(self, lines: list[bytes], text: TextChunk) -> list[bytes] | None:
        """The values of all lines at once, if each line is one valid row without quotes; else None."""
        if not is_plain(lines, text.data):
            return None
        delimiter = self._delimiter.encode()
        if self._objects is not None:
            return self._objects.plain(lines)
        delimiters = self._columns - 1
        return lines if all(line.count(delimiter) == delimiters for line in lines) else None

    def _by_rows(
        self, pieces: Sequence[bytes], line_ends: Sequence[int], text: TextChunk, report_malformed: ReportMalformed
    ) -> ParsedRecords:
        values: list[bytes] = []
        ends: list[int] = []
        line, start = 0, text.start
        reader = RowReader(pieces, line, self._delimiter)
        while line < len(pieces):
            try:
                row, lines = reader.row()
                self._check(row)
            except MalformedError as why:
                if isinstance(why, IncompleteError) and not text.last:
                    return ParsedRecords(values, ends, start)
                report_malformed(start, str(why))
                row, lines = [], 1
                reader = RowReader(pieces, line + 1, self._delimiter)
            start = line_ends[line + lines - 1]
            if row:
                values.append(self._value(row, pieces[line : line + lines]))
                ends.append(start)
            line += lines
        return ParsedRecords(values, ends, text.end)

    def _check(self, row: Sequence[str]) -> None:
        if row and len(row) != self._columns:
            raise MalformedError(f"{len(row)} columns, where the header has {self._columns}")

    def _value(self, row: Sequence[str], lines: Sequence[bytes]) -> bytes:
        if self._objects is not None:
            return self._objects.escaped(row)
        return NEWLINE.join(lines).removesuffix(b"\r")
