"""Refuse a message that declares more than it holds, before anything is set aside for it.

Readers of messages make room for as many elements as an array says it has; a frame of twenty bytes may say 2^32. So
every declared count and length is first held against the bytes that are left, without reading what they count.

This stands between each request and its answer. So for every kind of message a function is made that steps over it in
one go: composed of small ones, it took longer than all the rest of reading.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Mapping
from functools import cache
from itertools import groupby
from typing import Any, Final, NoReturn, TypeAlias, get_args

from eosfw_memory.log.batch import Buffer
from eosfw_memory.log.varints import read_unsigned
from eosfw_memory.protocol.codegen import Lines
from eosfw_memory.protocol.schemas import is_array, message_class

MAX_ELEMENTS: Final = 500_000
"""In all arrays of one request together: beyond what a client asks for, little enough to be held in memory."""
MAX_ANSWERED: Final = 2_000_000
"""In all arrays of one answer together: a large cluster describes 200,000 partitions with seven elements each."""

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
_MORE: Final = 0x80
"""Set in every byte of a varint but its last."""

Measure: TypeAlias = "Callable[[Buffer, int, _Budget], int]"
"""Steps over something at a position; gives the position behind it. Lies that are not seen on the way lead beyond."""
_Field: TypeAlias = "dataclasses.Field[Any]"


class MessageBoundsError(Exception):
    """A message declares more than it holds, or than anybody needs."""


class _Budget:
    """How many elements a message may still have."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def take(self, count: int, least_bytes: int, bytes_left: int) -> None:
        if count * least_bytes > bytes_left:
            raise MessageBoundsError(f"{count} elements are declared where {bytes_left} bytes are left")
        self.left -= count
        if self.left < 0:
            raise MessageBoundsError(f"more than {self.most} elements in one message")


def check_header(frame: Buffer, schema: type) -> int:
    """Raise TooMuchError for a request whose header lies, or ends too soon; give where that ends."""
    return _walk(frame, 0, _header(schema), MAX_ELEMENTS)


def check_body(frame: Buffer, at: int, schema: type) -> None:
    """The same for what is behind its header."""
    _walk(frame, at, measure_of(schema), MAX_ELEMENTS)


def check_answer(frame: Buffer, schema: Any) -> None:
    """The same for an answer of this class."""
    at = _walk(frame, 0, measure_of(schema.__header_schema__), MAX_ANSWERED)
    _walk(frame, at, measure_of(schema), MAX_ANSWERED)


def _walk(frame: Buffer, at: int, measure: Measure, most: int) -> int:
    try:
        at = measure(frame, at, _Budget(most))
    except (IndexError, struct.error) as why:
        raise MessageBoundsError(f"it ends too soon, after {len(frame)} bytes") from why
    if at > len(frame):
        raise MessageBoundsError(f"{at} bytes are declared where there are {len(frame)}")
    return at


@cache
def _header(schema: Any) -> Measure:
    steps = _Steps()
    steps.skip(_HEADER_BYTES)
    steps.text(flexible=False)  # a client's name has the old form in every version
    if schema.__header_schema__.__flexible__:
        steps.tags({})
    return steps.function()


@cache
def measure_of(schema: Any) -> Measure:
    """How to step over a message of this class."""
    steps = _Steps()
    steps.message(schema)
    return steps.function()


def _measure_of_tagged(field: _Field) -> Measure:
    steps = _Steps()
    steps.field(field, flexible=True)
    return steps.function()


class _Steps:
    """Collects the lines of a function that steps over what is in `frame` from `at` on."""

    def __init__(self) -> None:
        self._lines = Lines(_HELPERS)
        self._add = self._lines.add

    def function(self) -> Measure:
        """What the lines do."""
        return self._lines.function("measure(frame, at, budget)", "return at")

    def message(self, schema: Any) -> None:
        fields, flexible = dataclasses.fields(schema), schema.__flexible__
        plain = (field for field in fields if "tag" not in field.metadata)
        for fixed, some in groupby(plain, lambda field: _fixed(field) > 0):
            if fixed:
                self.skip(sum(map(_fixed, some)))
            else:
                for field in some:
                    self.field(field, flexible=flexible)
        if flexible:
            tagged = (field for field in fields if "tag" in field.metadata)
            self.tags({field.metadata["tag"]: _measure_of_tagged(field) for field in tagged})

    def field(self, field: _Field, *, flexible: bool) -> None:
        kind, nullable = field.metadata.get("kafka_type"), type(None) in get_args(field.type)
        if is_array(field.type):
            self._array(field, kind, flexible=flexible, nullable=nullable)
        elif kind is not None:
            self._value(kind, flexible=flexible)
        elif nullable:  # KIP-893
            self._add("at += 1", f"if frame[at - 1] == {_PRESENT}:")
            with self._lines.within():
                self.message(message_class(field.type))
        else:
            self.message(message_class(field.type))

    def skip(self, size: int) -> None:
        self._add(f"at += {size}")

    def text(self, *, flexible: bool) -> None:
        if flexible:
            self._compact_data()
        else:
            self._add("size = SHORT(frame, at)[0]", "at += size + 2 if size > 0 else 2")

    def tags(self, known: Mapping[int, Measure]) -> None:
        name = f"KNOWN{len(self._lines.names)}"
        self._lines.names[name] = known
        self._add(f"at = at + 1 if frame[at] == 0 else behind_tags(frame, at, budget, {name})")

    def _value(self, kind: str, *, flexible: bool) -> None:
        if kind in _FIXED:
            self.skip(_FIXED[kind])
        elif kind == "string":
            self.text(flexible=flexible)
        elif flexible:
            self._compact_data()
        else:
            self._add("size = LONG(frame, at)[0]", "at += size + 4 if size > 0 else 4")

    def _compact_data(self) -> None:
        self._add("size = frame[at]", f"at = at + (size or 1) if size < {_MORE} else behind_data(frame, at)")

    def _array(self, field: _Field, kind: str | None, *, flexible: bool, nullable: bool) -> None:
        size = _FIXED.get(kind or "", 0)
        if flexible:
            self._add(f"count, at = (frame[at], at + 1) if frame[at] < {_MORE} else varint(frame, at)", "count -= 1")
        else:
            self._add("count = LONG(frame, at)[0]", "at += 4")
        self._add("if count > 0:", f"    budget.take(count, {size or 1}, len(frame) - at)")
        if size:
            self._add(f"    at += count * {size}")
        else:
            self._add("    for _ in range(count):")
            with self._lines.within(2):
                if kind is None:
                    self.message(message_class(field.type))
                else:
                    self._value(kind, flexible=flexible)
        self._add("elif count < -1:" if nullable else "elif count < 0:", "    refuse_count(count)")


def _fixed(field: _Field) -> int:
    """The bytes of a field that always has as many, else 0."""
    return 0 if is_array(field.type) else _FIXED.get(field.metadata.get("kafka_type", ""), 0)


# --- what is rare


def _refuse_count(count: int) -> NoReturn:
    raise MessageBoundsError(f"an array of {count} elements")


def _behind_data(frame: Buffer, at: int) -> int:
    size, at = _varint(frame, at)
    return at + max(size - 1, 0)  # 0 is null, in however many bytes it is written


def _behind_tags(frame: Buffer, at: int, budget: _Budget, known: Mapping[int, Measure]) -> int:
    count, at = _varint(frame, at)
    budget.take(count, 2, len(frame) - at)
    for _ in range(count):
        tag, at = _varint(frame, at)
        size, at = _varint(frame, at)
        if size > len(frame) - at:
            raise MessageBoundsError(f"{size} bytes are declared where {len(frame) - at} are left")
        if tag in known and known[tag](frame, at, budget) != at + size:
            raise MessageBoundsError(f"tagged field {tag} does not have the size that is declared")
        at += size
    return at


def _varint(frame: Buffer, at: int) -> tuple[int, int]:
    number, behind = read_unsigned(frame, at)
    if behind - at > _VARINT_BYTES:
        raise MessageBoundsError("a length takes more than 32 bits")
    return number, behind


_HELPERS: Final[Mapping[str, Any]] = {
    "SHORT": struct.Struct(">h").unpack_from,
    "LONG": struct.Struct(">i").unpack_from,
    "varint": _varint,
    "behind_data": _behind_data,
    "behind_tags": _behind_tags,
    "refuse_count": _refuse_count,
}
