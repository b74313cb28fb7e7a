"""Reading of `.properties` files (Java's `Properties.load`, in UTF-8)."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["parse_properties"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_PAIR = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*(?:[=:][ \t\f]*)?(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """The properties of a file; ValueError with the line of a mistake, and never with a value.

    A name that is given twice is a mistake: Java lets the last one win, and nobody notices.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        pair = _PAIR.fullmatch(line)
        key, value = (_unescaped(part, number) for part in pair.group("key", "value")) if pair else ("", "")
        if not key:
            raise ValueError(f"line {number} has no name before its value")
        if key in found:
            raise ValueError(f"line {number} gives {key!r} a second time")
        found[key] = value
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with what continues them behind a backslash; without comments and empty lines."""
    begun, first = "", 0
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(_BLANKS)
        if not begun and (not line or line[0] in "#!"):
            continue
        first = first if begun else number
        if _continues(line):
            begun += line[:-1]
            continue
        yield first, begun + line
        begun = ""
    if begun:
        yield first, begun


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str, number: int) -> str:
    def character(escape: re.Match[str]) -> str:
        code = escape.group(1)
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code == "u":
            raise ValueError(f"line {number} has a malformed \\uxxxx")
        return _ESCAPED.get(code, code)

    # Characters beyond U+FFFF are written as two.
    return _ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
