"""Check the sizes that a message declares, before kio reads it.

kio reserves memory for all elements of an array before it reads the first, and the process aborts when there is not so
much: a frame of twenty bytes may declare 2^32 elements. So each declared count and length is compared with the bytes
that are left, without reading what it counts. The steps over a message must end where kio's reader ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any, Final, TypeAlias

from eosfw_memory.server.protocol.schemas import (
    FORMATS,
    Field,
    has_fixed_size,
    is_array,
    is_nullable,
    kafka_type,
    message_class,
    plain_fields,
    tagged_fields,
)
from eosfw_memory.storage.records.batch import Buffer
from eosfw_memory.storage.records.varints import read_unsigned

MAX_ELEMENTS: Final = 500_000
"""In all arrays of one request together: more than any client asks for, few enough to be held in memory."""
MAX_ANSWERED: Final = 2_000_000
"""In all arrays of one answer together: a large cluster describes 200,000 partitions with seven elements each."""

_SIZES: Final = {kind: struct.calcsize(">" + layout) for kind, layout in FORMATS.items()}
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
# Api key, version and correlation id.
_HEADER_BYTES: Final = 8
_VARINT_BYTES: Final = 5
_PRESENT: Final = 1
_LEAST_TAG_BYTES: Final = 2
"""A tagged field has at least its number and its size."""


class MessageBoundsError(Exception):
    """A message declares more than it holds, or more elements than are allowed."""


class _ElementBudget:
    """How many elements the rest of a message may have."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def take(self, count: int, least_bytes: int, bytes_left: int) -> None:
        if count * least_bytes > bytes_left:
            raise MessageBoundsError(f"{count} elements are declared where {bytes_left} bytes are left")
        self.left -= count
        if self.left < 0:
            raise MessageBoundsError(f"more than {self.most} elements in one message")


_Step: TypeAlias = Callable[[Buffer, int, _ElementBudget], int]
"""Steps over something in a frame; returns the position behind it.

A length that is declared too large may lead beyond the frame. The next step fails there, or else the end shows it."""


def check_header(frame: Buffer, schema: type) -> int:
    """Raise MessageBoundsError for a request whose header is not whole; return where that ends."""
    return _walk(frame, 0, _header(schema), MAX_ELEMENTS)


def check_body(frame: Buffer, at: int, schema: type) -> None:
    """Raise MessageBoundsError for a request whose body, from that position on, declares more than it holds."""
    _walk(frame, at, _message(schema), MAX_ELEMENTS)


def check_answer(frame: Buffer, schema: Any) -> None:
    """Raise MessageBoundsError for an answer of this class whose header or body declares more than it holds."""
    at = _walk(frame, 0, _message(schema.__header_schema__), MAX_ANSWERED)
    _walk(frame, at, _message(schema), MAX_ANSWERED)


def _walk(frame: Buffer, at: int, step: _Step, most: int) -> int:
    try:
        at = step(frame, at, _ElementBudget(most))
    except (IndexError, struct.error) as why:
        raise MessageBoundsError(f"it ends too soon, after {len(frame)} bytes") from why
    if at > len(frame):
        raise MessageBoundsError(f"{at} bytes are declared where there are {len(frame)}")
    return at


# --- messages and their fields


@cache
def _header(schema: Any) -> _Step:
    # The name of a client has the old form in every version.
    steps = [_fixed(_HEADER_BYTES), _short_data]
    if schema.__header_schema__.__flexible__:
        steps.append(_tags({}))
    return _sequence(steps)


@cache
def _message(schema: Any) -> _Step:
    return _sequence(_steps(schema))


def _sequence(each: Iterator[_Step] | list[_Step]) -> _Step:
    steps = tuple(each)

    def step_over(frame: Buffer, at: int, budget: _ElementBudget) -> int:
        for step in steps:
            at = step(frame, at, budget)
        return at

    return step_over


def _steps(schema: Any) -> Iterator[_Step]:
    flexible = schema.__flexible__
    for fixed, fields in groupby(plain_fields(schema), has_fixed_size):
        if fixed:
            yield _fixed(sum(_SIZES[field.metadata["kafka_type"]] for field in fields))
        else:
            for field in fields:
                yield _field(field, flexible=flexible)
    if flexible:
        yield _tags({field.metadata["tag"]: _field(field, flexible=True) for field in tagged_fields(schema)})


def _field(field: Field, *, flexible: bool) -> _Step:
    kind, nullable = kafka_type(field), is_nullable(field)
    element = _message(message_class(field.type)) if kind is None else _value(kind, flexible=flexible)
    if is_array(field.type):
        return _array(element, _SIZES.get(kind or "", 0), flexible=flexible, nullable=nullable)
    return _nullable(element) if kind is None and nullable else element


def _value(kind: str, *, flexible: bool) -> _Step:
    if kind in _SIZES:
        return _fixed(_SIZES[kind])
    if flexible:
        return _compact_data
    return _short_data if kind == "string" else _long_data


# --- the kinds of steps


def _fixed(size: int) -> _Step:
    def step_over(frame: Buffer, at: int, budget: _ElementBudget) -> int:  # noqa: ARG001
        return at + size

    return step_over


def _compact_data(frame: Buffer, at: int, budget: _ElementBudget) -> int:  # noqa: ARG001
    size, at = _varint(frame, at)
    return at + max(size - 1, 0)  # 0 is null, in however many bytes it is written


def _data(length: struct.Struct) -> _Step:
    """Bytes behind their length in the old form."""

    def step_over(frame: Buffer, at: int, budget: _ElementBudget) -> int:  # noqa: ARG001
        size: int = length.unpack_from(frame, at)[0]
        return at + length.size + max(size, 0)

    return step_over


_short_data, _long_data = _data(_INT16), _data(_INT32)


def _nullable(message: _Step) -> _Step:
    """A nested message behind a byte that says whether there is one (KIP-893)."""

    def step_over(frame: Buffer, at: int, budget: _ElementBudget) -> int:
        return message(frame, at + 1, budget) if frame[at] == _PRESENT else at + 1

    return step_over


def _array(element: _Step, element_size: int, *, flexible: bool, nullable: bool) -> _Step:
    """An array whose elements all have one size, unless that is 0."""
    read_count = _compact_count if flexible else _count
    least = -1 if nullable else 0

    def step_over(frame: Buffer, at: int, budget: _ElementBudget) -> int:
        count, at = read_count(frame, at)
        if count < least:
            raise MessageBoundsError(f"an array of {count} elements")
        if count <= 0:
            return at
        # Where elements differ in size, each has at least one byte.
        budget.take(count, element_size or 1, len(frame) - at)
        if element_size:
            return at + count * element_size
        for _ in range(count):
            at = element(frame, at, budget)
        return at

    return step_over


def _tags(known: Mapping[int, _Step]) -> _Step:
    """The tagged fields at the end of a message; those of unknown numbers are not looked into."""

    def step_over(frame: Buffer, at: int, budget: _ElementBudget) -> int:
        count, at = _varint(frame, at)
        if count:
            budget.take(count, _LEAST_TAG_BYTES, len(frame) - at)
        for _ in range(count):
            tag, at = _varint(frame, at)
            size, at = _varint(frame, at)
            if size > len(frame) - at:
                raise MessageBoundsError(f"{size} bytes are declared where {len(frame) - at} are left")
            if tag in known and known[tag](frame, at, budget) != at + size:
                raise MessageBoundsError(f"tagged field {tag} does not have the size that is declared")
            at += size
        return at

    return step_over


# --- numbers


def _count(frame: Buffer, at: int) -> tuple[int, int]:
    return _INT32.unpack_from(frame, at)[0], at + _INT32.size


def _compact_count(frame: Buffer, at: int) -> tuple[int, int]:
    count, at = _varint(frame, at)
    return count - 1, at


def _varint(frame: Buffer, at: int) -> tuple[int, int]:
    number, behind = read_unsigned(frame, at)
    if behind - at > _VARINT_BYTES:
        raise MessageBoundsError("a length takes more than 32 bits")
    return number, behind
