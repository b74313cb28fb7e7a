"""Strict reading of JSON: what two readers could understand differently is refused with its position."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from eosfw.errors import BadRequestError

_DEEPEST: Final = 100
_MOST_DIGITS: Final = 1000
# A string without an end is a token as well, and no step of it is taken back: else each quote in it would be looked at
# as the beginning of another string, in a time that grows with the square of the body's length.
_TOKEN = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+(?P<end>")?|[{}\[\],:]|[^\s{}\[\],:"]+|\s+')
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def dumped(value: Any) -> bytes:
    """JSON as Kafka Connect writes it: compact, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def loaded(body: bytes) -> Any:
    """The value of a body; BadRequestError with the position of the first mistake."""
    text = _decoded(body)
    _check(text)
    return _parsed(text)


def loaded_texts(body: bytes) -> Any:
    """The same with numbers and truth values as texts: properties are texts (Jackson's coercion)."""
    text = _decoded(body)
    _check(text)
    return _as_texts(_parsed(text, parse_int=str, parse_float=str))


def _decoded(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as why:
        raise BadRequestError(f"The body is no UTF-8 at byte {why.start}") from None
    if text.startswith("\ufeff"):
        raise BadRequestError("The body starts with a byte order mark at character 0: remove it")
    if not text.strip():
        raise BadRequestError("The body is empty: JSON is expected at character 0")
    return text


def _parsed(text: str, **how: Any) -> Any:
    try:
        return json.loads(text, **how)
    except json.JSONDecodeError as why:
        raise BadRequestError(f"The body is no JSON: {why.msg} at character {why.pos}") from None


def _check(text: str) -> None:
    """Refuse what `json` reads without complaint, or fails on in its own way."""
    open_objects: list[set[str] | None] = []
    key_expected = False
    for token in _TOKEN.finditer(text):
        piece, position = token.group(), token.start()
        if piece in "{[":
            open_objects.append(set() if piece == "{" else None)
            if len(open_objects) > _DEEPEST:
                raise BadRequestError(f"The body is nested deeper than {_DEEPEST} at character {position}")
            key_expected = piece == "{"
        elif piece in "}]":
            if open_objects:
                open_objects.pop()
            key_expected = False
        elif piece == ",":
            key_expected = bool(open_objects) and open_objects[-1] is not None
        elif piece[0] == '"':
            if token["end"] is None:
                return  # `json` says where it begins, and reads no further
            _check_string(piece, position, open_objects[-1] if key_expected and open_objects else None)
            key_expected = False
        else:
            _check_number(piece, position)


def _check_string(piece: str, position: int, keys: set[str] | None) -> None:
    try:
        value = json.loads(piece)
    except ValueError:
        return  # `json` says what is wrong with it
    if _LONE_SURROGATE.search(value):
        raise BadRequestError(f"The body has half of a surrogate pair in the string at character {position}")
    if keys is None:
        return
    if value in keys:
        raise BadRequestError(f"The body has the key {value[:100]!r} for a second time at character {position}")
    keys.add(value)


def _check_number(piece: str, position: int) -> None:
    if piece in ("NaN", "Infinity", "-Infinity"):
        raise BadRequestError(f"The body has {piece}, which is no JSON, at character {position}")
    if not piece.lstrip("-")[:1].isdigit():
        return
    if len(piece) > _MOST_DIGITS:
        raise BadRequestError(f"The body has a number of more than {_MOST_DIGITS} digits at character {position}")
    try:
        finite = math.isfinite(float(piece))
    except ValueError:
        return
    if not finite:
        raise BadRequestError(f"The body has a number that is too large at character {position}")


def _as_texts(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return {key: _as_texts(item) for key, item in value.items()}
    return [_as_texts(item) for item in value] if isinstance(value, list) else value
