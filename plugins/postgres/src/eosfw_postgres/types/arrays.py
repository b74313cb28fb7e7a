"""The text of arrays, as the server's `array_out` writes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from eosfw.errors import DataError

__all__ = ["array_parser", "split_array"]

_TOKENS = {
    delimiter: re.compile(
        r"(?P<open>\{)|(?P<close>\})|(?P<delimiter>" + delimiter + r""")|"(?P<quoted>(?:[^"\\]|\\.)*)\""""
        r"""|(?P<plain>(?:[^"\\{}""" + delimiter + r"""]|\\.)+)""",
        re.DOTALL,
    )
    for delimiter in ",;"
}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SIMPLE = re.compile(r"\{[^\"\\{}]*\}")
_ITEM = r'(?:"(?:[^"\\]|\\.)*"|[^"\\{},]+)'
_FLAT = re.compile(rf"\{{{_ITEM}(?:,{_ITEM})*\}}", re.DOTALL)
_ITEMS = re.compile(r'"((?:[^"\\]|\\.)*)"|([^"\\{},]+)', re.DOTALL)


def split_array(text: str, delimiter: str = ",") -> list[Any]:
    """The texts of the elements; None for null, and a list for an array inside.

    DataError for what is no array.
    """
    if _SIMPLE.fullmatch(text):
        inside = text[1:-1]
        return [None if one == "NULL" else one for one in inside.split(delimiter)] if inside else []
    if delimiter == "," and _FLAT.fullmatch(text):
        return [_item(*one) for one in _ITEMS.findall(text)]
    # Bounds other than from 1 stand before the elements: `[0:1]={7,8}`.
    start = text.index("=") + 1 if text.startswith("[") and "=" in text else 0
    return _nested(text, start, delimiter)


def _item(quoted: str, plain: str) -> str | None:
    if plain:
        return None if plain == "NULL" else plain
    return _ESCAPED.sub(r"\1", quoted) if "\\" in quoted else quoted


def _nested(text: str, at: int, delimiter: str) -> list[Any]:
    top: list[Any] = []
    stack = [top]
    for found in _tokens(text, at, delimiter):
        kind = found.lastgroup
        if kind == "open":
            inner: list[Any] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif kind == "close":
            stack.pop()
        elif kind == "quoted":
            stack[-1].append(_ESCAPED.sub(r"\1", found["quoted"]))
        elif kind == "plain":
            stack[-1].append(None if found["plain"] == "NULL" else _ESCAPED.sub(r"\1", found["plain"]))
        if not stack:
            break
    if len(stack) != 1 or len(top) != 1 or not isinstance(top[0], list):
        raise DataError("a value is no text of an array")
    whole: list[Any] = top[0]
    return whole


def _tokens(text: str, at: int, delimiter: str) -> Any:
    token = _TOKENS[delimiter]
    while at < len(text):
        found = token.match(text, at)
        if found is None:
            raise DataError("a value is no text of an array")
        yield found
        at = found.end()


def array_parser(parse_element: Callable[[list[Any]], list[Any]], delimiter: str) -> Callable[[str], list[Any]]:
    """What makes of the text of an array the values of its elements; DataError for one of several dimensions."""

    def parse(text: str) -> list[Any]:
        elements = split_array(text, delimiter)
        if elements and any(type(one) is list for one in elements):
            raise DataError("an array has several dimensions, which a schema of Kafka Connect cannot say")
        return parse_element(elements)

    return parse
