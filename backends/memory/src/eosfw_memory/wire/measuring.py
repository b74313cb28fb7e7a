"""Refuse a message that declares more than it holds, before anything is set aside for it.

Readers of messages make room for as many elements as an array says it has; a frame of twenty bytes may say 2^32. So
every declared count and length is first held against the bytes that are left, without reading what they count.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final, get_args

from eosfw_memory.wire.schemas import message_class

MAX_ELEMENTS: Final = 500_000
"""In all arrays of one request together: beyond what a client asks for, little enough to be held in memory."""
MAX_ANSWERED: Final = 2_000_000
"""In all arrays of one answer together: a large cluster describes 200,000 partitions with seven elements each."""

_SHORT, _LONG = struct.Struct(">h"), struct.Struct(">i")
_FIXED: Final[Mapping[str, int]] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "float64": 8,
    "uuid": 16,
}
_HEADER_BYTES: Final = 8
_VARINT_BYTES: Final = 5
_PRESENT: Final = 1
_NULL: Final = -1
_MORE: Final = 0x80
"""Set in every byte of a varint but its last."""

Measure = Callable[[bytes, int, "_Budget"], int]
"""Steps over something at a position; gives the position behind it."""


class TooMuchError(Exception):
    """A message declares more than it holds, or than anybody needs."""


class _Budget:
    """How many elements a message may still have."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def take(self, count: int, least_bytes: int, bytes_left: int) -> None:
        if count * least_bytes > bytes_left:
            raise TooMuchError(f"{count} elements are declared where {bytes_left} bytes are left")
        self.left -= count
        if self.left < 0:
            raise TooMuchError(f"more than {self.most} elements in one message")


def check(frame: bytes, schema: type) -> None:
    """Raise TooMuchError for a request that lies, or ends too soon."""
    _walk(frame, _header(schema), schema, MAX_ELEMENTS)


def check_answer(frame: bytes, schema: Any) -> None:
    """The same for an answer of this class."""
    _walk(frame, measure_of(schema.__header_schema__), schema, MAX_ANSWERED)


def _walk(frame: bytes, header: Measure, schema: type, most: int) -> None:
    budget = _Budget(most)
    try:
        at = header(frame, 0, budget)
        at = measure_of(schema)(frame, at, budget)
    except (IndexError, struct.error) as why:
        raise TooMuchError(f"it ends too soon, after {len(frame)} bytes") from why
    if at > len(frame):
        raise TooMuchError(f"{at} bytes are declared where there are {len(frame)}")


@cache
def _header(schema: Any) -> Measure:
    # A client's name has the old form in every version.
    steps: list[Measure] = [_skip(_HEADER_BYTES), _text(flexible=False)]
    return _each([*steps, _tagged({})] if schema.__header_schema__.__flexible__ else steps)


@cache
def measure_of(schema: Any) -> Measure:
    """How to step over a message of this class."""
    flexible = schema.__flexible__
    fields = dataclasses.fields(schema)
    plain = [field for field in fields if "tag" not in field.metadata]
    steps: list[Measure] = []
    for size, some in groupby(plain, _fixed):
        together = list(some)
        if size:
            steps.append(_skip(sum(map(_fixed, together))))
        else:
            steps += [_step(field, flexible=flexible) for field in together]
    if flexible:
        known = {field.metadata["tag"]: field for field in fields if "tag" in field.metadata}
        steps.append(_tagged({tag: _step(field, flexible=True) for tag, field in known.items()}))
    return _each(steps)


def _fixed(field: dataclasses.Field[Any]) -> int:
    """The bytes of a field that always has as many, else 0."""
    return 0 if _is_array(field) else _FIXED.get(field.metadata.get("kafka_type", ""), 0)


def _step(field: dataclasses.Field[Any], *, flexible: bool) -> Measure:
    kind = field.metadata.get("kafka_type")
    if _is_array(field):
        return _array(field, kind, flexible=flexible)
    if kind is None:
        inner = measure_of(message_class(field.type))
        return _optional(inner) if type(None) in get_args(field.type) else inner
    if kind in _FIXED:
        return _skip(_FIXED[kind])
    return _text(flexible=flexible) if kind == "string" else _data(flexible=flexible)


def _is_array(field: dataclasses.Field[Any]) -> bool:
    return any(getattr(arm, "__origin__", None) is tuple for arm in (field.type, *get_args(field.type)))


def _each(steps: Sequence[Measure]) -> Measure:
    def measure(frame: bytes, at: int, budget: _Budget) -> int:
        for step in steps:
            at = step(frame, at, budget)
        return at

    return measure


def _skip(size: int) -> Measure:
    return lambda _frame, at, _budget: at + size


def _text(*, flexible: bool) -> Measure:
    return _compact_data if flexible else _short_data


def _data(*, flexible: bool) -> Measure:
    return _compact_data if flexible else _long_data


def _short_data(frame: bytes, at: int, budget: _Budget) -> int:  # noqa: ARG001
    return _behind(frame, at + 2, _SHORT.unpack_from(frame, at)[0])


def _long_data(frame: bytes, at: int, budget: _Budget) -> int:  # noqa: ARG001
    return _behind(frame, at + 4, _LONG.unpack_from(frame, at)[0])


def _compact_data(frame: bytes, at: int, budget: _Budget) -> int:  # noqa: ARG001
    size, at = _varint(frame, at)
    return _behind(frame, at, size - 1)


def _behind(frame: bytes, at: int, size: int) -> int:
    if size > len(frame) - at:
        raise TooMuchError(f"{size} bytes are declared where {len(frame) - at} are left")
    return at + max(size, 0)


def _array(field: dataclasses.Field[Any], kind: str | None, *, flexible: bool) -> Measure:
    size = _FIXED.get(kind or "", 0)
    nullable = type(None) in get_args(field.type)
    if kind is None:
        element = measure_of(message_class(field.type))
    else:
        element = _skip(size) if size else _text(flexible=flexible) if kind == "string" else _data(flexible=flexible)

    def measure(frame: bytes, at: int, budget: _Budget) -> int:
        if flexible:
            count, at = _varint(frame, at)
            count -= 1
        else:
            count, at = _LONG.unpack_from(frame, at)[0], at + 4
        if count < 0 and not (nullable and count == _NULL):
            raise TooMuchError(f"an array of {count} elements")
        if count <= 0:
            return at
        budget.take(count, size or 1, len(frame) - at)
        if size:
            return at + count * size
        for _ in range(count):
            at = element(frame, at, budget)
        return at

    return measure


def _optional(inner: Measure) -> Measure:
    def measure(frame: bytes, at: int, budget: _Budget) -> int:
        return inner(frame, at + 1, budget) if frame[at] == _PRESENT else at + 1

    return measure


def _tagged(known: Mapping[int, Measure]) -> Measure:
    def measure(frame: bytes, at: int, budget: _Budget) -> int:
        count, at = _varint(frame, at)
        if not count:
            return at
        budget.take(count, 2, len(frame) - at)
        for _ in range(count):
            tag, at = _varint(frame, at)
            size, at = _varint(frame, at)
            behind = _behind(frame, at, size)
            if tag in known and known[tag](frame, at, budget) != behind:
                raise TooMuchError(f"tagged field {tag} does not have the size that is declared")
            at = behind
        return at

    return measure


def _varint(frame: bytes, at: int) -> tuple[int, int]:
    first = frame[at]
    if first < _MORE:  # nearly always
        return first, at + 1
    value = 0
    for index in range(_VARINT_BYTES):
        byte = frame[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < _MORE:
            return value, at + index + 1
    raise TooMuchError("a length takes more than 32 bits")
