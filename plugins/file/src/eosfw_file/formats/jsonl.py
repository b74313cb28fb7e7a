"""The JSON Lines format: a record for each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from eosfw_file.formats.text_format import ParsedRecords, ends_of, pieces_of, without_returns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw_file.formats.text_format import ReportMalformed, TextChunk


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Numbers are decoded as text: they are only checked, and Python limits the digits of an int.
_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_int=str, parse_float=str)


class JsonLines:
    """A record for each line, which must be one JSON value in UTF-8; blank lines are not records."""

    schema = None

    def parse(self, text: TextChunk, report_malformed: ReportMalformed) -> ParsedRecords:
        pieces = pieces_of(text)
        lines, ends = without_returns(pieces, text), ends_of(pieces, text)
        if _all_json(lines):
            return ParsedRecords(lines, ends, text.end)
        return _parse_each_line(lines, ends, text, report_malformed)


def _all_json(lines: Sequence[bytes]) -> bool:
    """Whether each line is JSON from its first to its last character; blank lines and spaces around it give False."""
    scan = _DECODER.scan_once  # type: ignore[attr-defined]  # public, yet missing from typeshed
    try:
        decoded = b"\n".join(lines).decode().split("\n")
        for line in decoded:
            if scan(line, 0)[1] != len(line):
                return False
    except (ValueError, StopIteration, RecursionError):
        return False
    return True


def _parse_each_line(
    lines: Sequence[bytes], line_ends: Sequence[int], text: TextChunk, report_malformed: ReportMalformed
) -> ParsedRecords:
    values: list[bytes] = []
    ends: list[int] = []
    start = text.start
    for line, end in zip(lines, line_ends, strict=True):
        if line.strip():
            what = _json_error(line)
            if what is None:
                values.append(line)
                ends.append(end)
            else:
                report_malformed(start, what)
        start = end
    return ParsedRecords(values, ends, text.end)


def _json_error(line: bytes) -> str | None:
    try:
        _DECODER.decode(line.decode())
    except UnicodeDecodeError as why:
        return f"not UTF-8 (byte {why.start + 1} of the line)"
    except json.JSONDecodeError as why:
        return f"not JSON ({why.msg}, column {why.colno})"
    except ValueError as why:
        return f"not JSON ({why})"
    except RecursionError:
        return "JSON nested too deeply"
    return None
