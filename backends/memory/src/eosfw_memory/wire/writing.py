"""Write trees of fields as messages of one version, straight into bytes.

Handlers answer with trees of mappings by Kafka's field names, the union of all versions. Here each version picks the
fields it has, so no handler needs to know which version names what. Fields of fixed size that follow each other are
packed in one go: an answer's bytes are on a client's way through a transaction.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final, Protocol, TypeAlias, get_args

from eosfw_memory.log.batch import Buffer
from eosfw_memory.wire.schemas import is_array, message_class

_FORMATS: Final[Mapping[str, str]] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "error_code": "h",
    "int32": "i",
    "timedelta_i32": "i",
    "int64": "q",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "float64": "d",
    "uuid": "16s",
}
_MISSING: Final = object()
_NO_TAGS: Final = "x"
"""A message that can carry tagged fields ends with their number; as a format, one zero byte."""
_ABSENT, _PRESENT = b"\xff", b"\1"
_NO_UUID = bytes(16)
_LONGEST: Final = 32_767
"""Bytes of a text in messages of the old form."""
_SHORT, _LONG = struct.Struct(">h"), struct.Struct(">i")
_MORE: Final = 0x80
"""Set in every byte of a varint but its last."""
_VARINTS: Final = tuple(bytes((value,)) for value in range(_MORE))

_Field: TypeAlias = "dataclasses.Field[Any]"
_Step: TypeAlias = "Callable[[Tree, list[Buffer]], None]"
"""Writes some fields of a tree behind what is there."""
_Write: TypeAlias = Callable[[Any, list[Buffer]], None]
"""Writes one value."""


class Tree(Protocol):
    """A message, or a part of one, by field names."""

    def get(self, name: str, default: Any, /) -> Any:
        """The field, or what is given for one that is not there."""


Writer: TypeAlias = "Callable[[Tree, list[Buffer]], None]"


@cache
def writer(schema: Any) -> Writer:
    """A function that writes a tree as a message of this class, piece by piece behind what is in a list.

    It raises struct.error where a field is missing that has no default, or a number is out of its range; ValueError for
    a text or a null that this version cannot carry.
    """
    flexible = schema.__flexible__
    fields = dataclasses.fields(schema)
    tagged = [field for field in fields if "tag" in field.metadata]
    groups = [
        (fixed, list(some))
        for fixed, some in groupby((field for field in fields if "tag" not in field.metadata), _is_fixed)
    ]
    steps: list[_Step] = []
    for number, (fixed, some) in enumerate(groups, 1):
        if fixed:
            ends = flexible and not tagged and number == len(groups)
            steps.append(_packed(some, _NO_TAGS if ends else ""))
        else:
            steps += [_one(field, flexible=flexible) for field in some]
    if flexible and (tagged or not groups or not groups[-1][0]):
        steps.append(_tags(tagged))
    return steps[0] if len(steps) == 1 else _each(steps)


def _each(steps: Sequence[_Step]) -> _Step:
    def write(tree: Tree, out: list[Buffer]) -> None:
        for step in steps:
            step(tree, out)

    return write


# --- fields of fixed size


def _is_fixed(field: _Field) -> bool:
    return not is_array(field.type) and field.metadata.get("kafka_type") in _FORMATS


def _packed(fields: Sequence[_Field], end: str) -> _Step:
    pack = struct.Struct(">" + "".join(_FORMATS[field.metadata["kafka_type"]] for field in fields) + end).pack
    plan = [(field.name, _default(field)) for field in fields]
    found = [(at, _NUMBERS.get(field.metadata["kafka_type"])) for at, field in enumerate(fields)]
    odd = [(at, convert) for at, convert in found if convert is not None]

    def write(tree: Tree, out: list[Buffer]) -> None:
        get = tree.get
        out.append(pack(*[get(name, default) for name, default in plan]))

    def write_converted(tree: Tree, out: list[Buffer]) -> None:
        get = tree.get
        values = [get(name, default) for name, default in plan]
        for at, convert in odd:
            values[at] = convert(values[at])
        out.append(pack(*values))

    return write_converted if odd else write


def _milliseconds(value: int | dt.timedelta) -> int:
    return value if isinstance(value, int) else round(value.total_seconds() * 1000)


def _moment(value: int | dt.datetime | None) -> int:
    if value is None:
        return -1
    return value if isinstance(value, int) else round(value.timestamp() * 1000)


def _uuid_bytes(value: Any) -> bytes:
    return _NO_UUID if value is None else bytes(value.bytes)


_NUMBERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "datetime_i64": _moment,
    "uuid": _uuid_bytes,
}


def _default(field: _Field) -> Any:
    """What a field gets that is not in the tree."""
    if field.name == "throttle_time":
        return 0
    if field.default is not dataclasses.MISSING:
        return field.default
    return None if type(None) in get_args(field.type) else _MISSING


# --- others


def _one(field: _Field, *, flexible: bool) -> _Step:
    name, default = field.name, _default(field)
    write_value = _value(field, flexible=flexible, nullable=type(None) in get_args(field.type))

    def write(tree: Tree, out: list[Buffer]) -> None:
        write_value(tree.get(name, default), out)

    return write


def _value(field: _Field, *, flexible: bool, nullable: bool) -> _Write:
    kind = field.metadata.get("kafka_type")
    if is_array(field.type):
        return _array(_element(field, kind, flexible=flexible), flexible=flexible)
    if kind is None:
        nested = writer(message_class(field.type))
        return _optional(nested) if nullable else nested
    if kind in _FORMATS:
        return _number(kind)
    return _data(kind, flexible=flexible, nullable=nullable)


def _element(field: _Field, kind: str | None, *, flexible: bool) -> _Write:
    if kind is None:
        return writer(message_class(field.type))
    return _number(kind) if kind in _FORMATS else _data(kind, flexible=flexible, nullable=False)


def _number(kind: str) -> _Write:
    pack, convert = struct.Struct(">" + _FORMATS[kind]).pack, _NUMBERS.get(kind, _itself)

    def write(value: Any, out: list[Buffer]) -> None:
        out.append(pack(convert(value)))

    return write


def _itself(value: Any) -> Any:
    return value


def _optional(nested: Writer) -> _Write:
    # KIP-893
    def write(value: Any, out: list[Buffer]) -> None:
        if value is None:
            out.append(_ABSENT)
        else:
            out.append(_PRESENT)
            nested(value, out)

    return write


def _array(element: _Write, *, flexible: bool) -> _Write:
    length = _compact_length if flexible else _LONG.pack

    def write(values: Sequence[Any] | None, out: list[Buffer]) -> None:
        if values is None:
            out.append(length(-1))
            return
        out.append(length(len(values)))
        for value in values:
            element(value, out)

    return write


def _data(kind: str, *, flexible: bool, nullable: bool) -> _Write:
    """Texts and bytes, told by their length; bytes may come in pieces."""
    length = _compact_length if flexible else _text_length if kind == "string" else _LONG.pack

    def write(value: Any, out: list[Buffer]) -> None:
        if value is None:
            if not nullable:
                raise ValueError("a null where this version knows none")
            out.append(length(-1))
            return
        if isinstance(value, (list, tuple)):
            out.append(length(sum(map(len, value))))
            out += value
            return
        data = value.encode() if isinstance(value, str) else value
        out.append(length(len(data)))
        out.append(data)

    return write


def _text_length(size: int) -> bytes:
    if size > _LONGEST:
        raise ValueError(f"a text of {size} bytes; this version carries {_LONGEST}")
    return _SHORT.pack(size)


def _compact_length(size: int) -> bytes:
    return _varint(size + 1)


def _varint(value: int) -> bytes:
    if value < _MORE:  # nearly always
        return _VARINTS[value]
    out = bytearray()
    while value >= _MORE:
        out.append(value & 0x7F | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


# --- tagged fields (KIP-482)


def _tags(fields: Sequence[_Field]) -> _Step:
    """Those that differ from their defaults, in the order of their tags."""
    plan = [
        (_varint(field.metadata["tag"]), field.name, _value(field, flexible=True, nullable=False), _default(field))
        for field in sorted(fields, key=lambda field: int(field.metadata["tag"]))
    ]

    def write(tree: Tree, out: list[Buffer]) -> None:
        written = []
        for tag, name, write_value, default in plan:
            value = tree.get(name, default)
            if value == default or (default == () and not value):
                continue
            pieces: list[Buffer] = []
            write_value(value, pieces)
            data = b"".join(pieces)
            written += [tag, _varint(len(data)), data]
        out.append(_varint(len(written) // 3))
        out += written

    return write if plan else _no_tags


def _no_tags(_tree: Tree, out: list[Buffer]) -> None:
    out.append(_VARINTS[0])
