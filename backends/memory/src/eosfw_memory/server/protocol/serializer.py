"""Write messages of one version from mappings of field names, into pieces of bytes.

Handlers answer with mappings by Kafka's field names, the union of all versions. Here each version picks the fields it
has, so no handler needs to know which version has what. kio's own writer takes objects of its message classes instead,
and every piece of bytes in one: batches of a log would be put together before they are sent from where they lie.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final, Protocol, TypeAlias

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
from eosfw_memory.storage.records.varints import encoded_unsigned

_MISSING: Final = object()
_NO_TAGS = b"\0"
# A signed byte: -1 or 1.
_ABSENT, _PRESENT = b"\xff", b"\1"
_NO_UUID = bytes(16)
LONGEST_TEXT: Final = 32_767
"""Bytes of a text in messages of the old form, as are the keys of the group's log."""
_SHORT = struct.Struct(">h")
_LONG = struct.Struct(">i")


class Message(Protocol):
    """A message, or a part of one, by field names."""

    def get(self, name: str, default: Any, /) -> Any:
        """The field, or the default for one that is not there."""


MessageWriter: TypeAlias = Callable[[Message, list[Buffer]], None]
_ValueWriter: TypeAlias = Callable[[Any, list[Buffer]], None]
_Length: TypeAlias = Callable[[int], bytes]
"""Encodes a size, in which -1 stands for null."""


@cache
def message_writer(schema: Any) -> MessageWriter:
    """A function that writes a message of this class, piece by piece behind what is in a list.

    It raises struct.error where a field is missing that has no default, or a number is out of its range; ValueError for
    a text or a null that this version cannot carry.
    """
    steps = tuple(_steps(schema))

    def write(message: Message, out: list[Buffer]) -> None:
        for step in steps:
            step(message, out)

    return write


def _steps(schema: Any) -> Iterator[MessageWriter]:
    flexible = schema.__flexible__
    for fixed, fields in groupby(plain_fields(schema), has_fixed_size):
        if fixed:
            yield _fixed_fields(fields)
        else:
            for field in fields:
                yield _field(field, _field_value(field, flexible=flexible, nullable=is_nullable(field)))
    if flexible:
        yield _tags(tagged_fields(schema))


# --- fields


def _fixed_fields(fields: Iterable[Field]) -> MessageWriter:
    """Fields that follow each other, all of fixed size: packed together."""
    types = [(field, field.metadata["kafka_type"]) for field in fields]
    pack = struct.Struct(">" + "".join(FORMATS[kind] for _, kind in types)).pack
    plan = [(field.name, _default(field), _NUMBERS.get(kind)) for field, kind in types]

    def write(message: Message, out: list[Buffer]) -> None:
        values = [
            message.get(name, default) if number is None else number(message.get(name, default))
            for name, default, number in plan
        ]
        out.append(pack(*values))

    return write


def _field(field: Field, write_value: _ValueWriter) -> MessageWriter:
    name, default = field.name, _default(field)
    return lambda message, out: write_value(message.get(name, default), out)


def _field_value(field: Field, *, flexible: bool, nullable: bool) -> _ValueWriter:
    kind, is_list = kafka_type(field), is_array(field.type)
    if kind is not None:
        value = _value(kind, flexible=flexible, nullable=nullable and not is_list)
    else:
        value = message_writer(message_class(field.type))
    if is_list:
        return _array(value, _compact_length if flexible else _LONG.pack)
    return _nullable(value) if kind is None and nullable else value


def _default(field: Field) -> Any:
    """The value of a field that is not in a message."""
    # Only answers that are throttled have this field, and it is their connection that gives it.
    if field.name == "throttle_time":
        return 0
    if field.default is not dataclasses.MISSING:
        return field.default
    return None if is_nullable(field) else _MISSING


# --- values


def _value(kind: str, *, flexible: bool, nullable: bool) -> _ValueWriter:
    if kind in FORMATS:
        pack, number = struct.Struct(">" + FORMATS[kind]).pack, _NUMBERS.get(kind)
        return lambda value, out: out.append(pack(value if number is None else number(value)))
    length = _compact_length if flexible else _short_length if kind == "string" else _LONG.pack
    return _data(length, nullable=nullable)


def _data(length: _Length, *, nullable: bool) -> _ValueWriter:
    """A text, or bytes, which may come in pieces: those go out one by one."""

    def write(value: str | Buffer | Sequence[Buffer] | None, out: list[Buffer]) -> None:
        if value is None and not nullable:
            raise ValueError("a null where this version knows none")
        if value is None:
            out.append(length(-1))
        elif isinstance(value, list | tuple):
            out.append(length(sum(map(len, value))))
            out += value
        else:
            data: Any = value.encode() if isinstance(value, str) else value
            out.append(length(len(data)))
            out.append(data)

    return write


def _array(element: _ValueWriter, length: _Length) -> _ValueWriter:
    def write(values: Sequence[Any] | None, out: list[Buffer]) -> None:
        if values is None:
            out.append(length(-1))
            return
        out.append(length(len(values)))
        for value in values:
            element(value, out)

    return write


def _nullable(message: MessageWriter) -> _ValueWriter:
    """A nested message behind a byte that says whether there is one (KIP-893)."""

    def write(value: Message | None, out: list[Buffer]) -> None:
        if value is None:
            out.append(_ABSENT)
        else:
            out.append(_PRESENT)
            message(value, out)

    return write


# --- tagged fields (KIP-482)


def _tags(fields: Sequence[Field]) -> MessageWriter:
    """The number of the tagged fields that differ from their defaults, behind it those."""
    plan = [
        # A null is not written at all, so one that is written would be a mistake.
        (
            encoded_unsigned(field.metadata["tag"]),
            field.name,
            _default(field),
            _field_value(field, flexible=True, nullable=False),
        )
        for field in fields
    ]

    def write(message: Message, out: list[Buffer]) -> None:
        written: list[Buffer] = []
        for tag, name, default, write_value in plan:
            value = message.get(name, default)
            # kio's default is a tuple, which no empty list equals.
            if value == default or (default == () and not value):
                continue
            pieces: list[Buffer] = []
            write_value(value, pieces)
            data = b"".join(pieces)
            written += tag, encoded_unsigned(len(data)), data
        out.append(encoded_unsigned(len(written) // 3) if written else _NO_TAGS)
        out += written

    return write


# --- lengths and numbers


def _compact_length(size: int) -> bytes:
    return encoded_unsigned(size + 1)


def _short_length(size: int) -> bytes:
    if size > LONGEST_TEXT:
        raise ValueError(f"a text of {size} bytes; this version carries {LONGEST_TEXT}")
    return _SHORT.pack(size)


def _milliseconds(value: int | dt.timedelta) -> int:
    return value if isinstance(value, int) else round(value.total_seconds() * 1000)


def _epoch_milliseconds(value: int | dt.datetime | None) -> int:
    if value is None:
        return -1
    return value if isinstance(value, int) else round(value.timestamp() * 1000)


def _uuid_bytes(value: Any) -> bytes:
    return _NO_UUID if value is None else bytes(value.bytes)


_NUMBERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "datetime_i64": _epoch_milliseconds,
    "uuid": _uuid_bytes,
}
"""How values become numbers, of the types whose values are none."""
