"""Read the records of a batch that differ in their values and last headers alone.

A task writes such records: without keys, with one timestamp, with headers of which only the last one differs. The bytes
that they share are compared as a whole, which is several times faster than reading them field by field
(benchmarks/RESULTS.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from eosfw.records import Headers
from eosfw_memory.storage.records.headers import NO_HEADERS, NULL, encoded_front
from eosfw_memory.storage.records.varints import VARINT

_NO_ATTRIBUTES_NO_DELTA = b"\0\0"
_SMALLEST = 7
"""Bytes of the smallest record there can be."""


def read_uniform_records(
    data: bytes, records: int, headers: Headers
) -> tuple[list[bytes | None], list[Headers] | None] | None:
    """Values and headers of records like the first one, whose headers are given; None if some record differs."""
    if records * _SMALLEST > len(data):
        return None  # it declares more records than the bytes can hold
    try:
        if not headers:
            values, _ = _read(data, records, NO_HEADERS, tails=False)
            return values, None
        name = headers[-1][0]
        values, tails = _read(data, records, encoded_front(headers), tails=True)
    except (IndexError, _DifferentError):  # the general reader reads it, or refuses it
        return None
    shared = headers[:-1]
    return values, [(*shared, (name, tail)) for tail in tails]


class _DifferentError(Exception):
    """A record is not like the others."""


def _read(  # noqa: C901, PLR0912
    data: bytes, records: int, front: bytes, *, tails: bool
) -> tuple[list[bytes | None], list[bytes]]:
    """Values, and values of last headers; one flat loop, since a call per number would cost more than all the rest."""
    values: list[bytes | None] = []
    lasts: list[bytes] = []
    add_value, add_last = values.append, lasts.append
    at, behind_front = 0, len(front)
    for start in _starts(records):
        if (size := data[at]) < 0x80:
            at += 1
        else:
            size, at = size - 0x80 + (_second(data[at + 1]) << 7), at + 2
        end = at + (size >> 1)
        if not data.startswith(start, at):
            raise _DifferentError
        at += len(start)
        if (size := data[at]) < 0x80:
            at += 1
        else:
            size, at = size - 0x80 + (_second(data[at + 1]) << 7), at + 2
        add_value(data[at : (at := at + (size >> 1))])
        # An odd size is negative in zigzag: a null, which the general reader reads.
        if size & 1 or not data.startswith(front, at):
            raise _DifferentError
        at += behind_front
        if tails:
            if (size := data[at]) < 0x80:
                at += 1
            else:
                size, at = size - 0x80 + (_second(data[at + 1]) << 7), at + 2
            if size & 1:
                raise _DifferentError
            add_last(data[at : (at := at + (size >> 1))])
        if at != end:
            raise _DifferentError
    if at != len(data):
        raise _DifferentError
    return values, lasts


def _second(byte: int) -> int:
    if byte >= 0x80:  # a number of three bytes: the record is no small one
        raise _DifferentError
    return byte


@lru_cache(maxsize=4)
def _starts(records: int) -> Sequence[bytes]:
    """What begins each record behind its size: attributes, no timestamp delta, its offset, no key."""
    return [_NO_ATTRIBUTES_NO_DELTA + VARINT[offset] + NULL for offset in range(records)]
