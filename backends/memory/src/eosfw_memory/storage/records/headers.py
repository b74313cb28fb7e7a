"""Encode the headers of many records.

Neighbours mostly differ in their last header alone, so what comes before it is encoded once per run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from eosfw.records import Headers
from eosfw_memory.storage.records.varints import VARINT, encoded

NULL: Final = encoded(-1)
NO_HEADERS: Final = encoded(0)


def encoded_headers(column: Iterable[Headers]) -> Iterator[bytes]:
    """The headers of each record as they end it: their number, then name and value of each."""
    front: Headers | None = None
    last_name: str | None = None
    head = b""
    for headers in column:
        if not headers:
            yield NO_HEADERS
            continue
        name, value = headers[-1]
        if front is None or name != last_name or headers[:-1] != front:
            front, last_name = headers[:-1], name
            head = _head(front, name)
        yield head + NULL if value is None else head + VARINT[len(value)] + value


def encoded_alone(headers: Headers) -> bytes:
    """The headers of one record, encoded."""
    return next(encoded_headers((headers,)))


def encoded_front(headers: Headers) -> bytes:
    """What comes before the value of the last one of these headers."""
    return _head(headers[:-1], headers[-1][0])


def _head(front: Headers, name: str) -> bytes:
    pieces = [VARINT[len(front) + 1]]
    for each, value in front:
        pieces += _text(each), NULL if value is None else VARINT[len(value)] + value
    return b"".join((*pieces, _text(name)))


def _text(name: str) -> bytes:
    text = name.encode()
    return VARINT[len(text)] + text
