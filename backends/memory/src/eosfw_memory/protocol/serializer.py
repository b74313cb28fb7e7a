"""Write trees of fields as messages of one version, straight into bytes.

Handlers answer with trees of mappings by Kafka's field names, the union of all versions. Here each version picks the
fields it has, so no handler needs to know which version names what. An answer's bytes are on a client's way through a
transaction, so for every version a function is made that writes it in one go, fields of fixed size together.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Final, NoReturn, Protocol, TypeAlias, get_args

from eosfw_memory.log.batch import Buffer
from eosfw_memory.log.varints import encoded_unsigned
from eosfw_memory.protocol.codegen import Lines
from eosfw_memory.protocol.schemas import is_array, message_class

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
_NO_UUID = bytes(16)
_LONGEST: Final = 32_767
"""Bytes of a text in messages of the old form."""
_SHORT = struct.Struct(">h")
_COMPACT: Final = "varint(size + 1)"
"""How a size of a newer version is written, as a line of a function: one more, since 0 stands for null."""

_Field: TypeAlias = "dataclasses.Field[Any]"


class Tree(Protocol):
    """A message, or a part of one, by field names."""

    def get(self, name: str, default: Any, /) -> Any:
        """The field, or what is given for one that is not there."""


MessageWriter: TypeAlias = "Callable[[Tree, list[Buffer]], None]"


@cache
def message_writer(schema: Any) -> MessageWriter:
    """A function that writes a tree as a message of this class, piece by piece behind what is in a list.

    It raises struct.error where a field is missing that has no default, or a number is out of its range; ValueError for
    a text or a null that this version cannot carry.
    """
    steps = _Steps()
    steps.message(schema, "tree")
    return steps.function()


def _writer_of_tagged(field: _Field) -> MessageWriter:
    steps = _Steps()
    steps.field(field, "tree", flexible=True, nullable=False)
    return steps.function()


class _Steps:
    """Collects the lines of a function that writes a `tree` behind what is in `out`."""

    def __init__(self) -> None:
        self._lines = Lines(_HELPERS)
        self._add = self._lines.add

    def function(self) -> MessageWriter:
        """What the lines do."""
        return self._lines.function("write(tree, out)", "return")

    def message(self, schema: Any, tree: str) -> None:
        fields, flexible = dataclasses.fields(schema), schema.__flexible__
        plain = [field for field in fields if "tag" not in field.metadata]
        tagged = [field for field in fields if "tag" in field.metadata]
        groups = [(fixed, list(some)) for fixed, some in groupby(plain, _is_fixed)]
        for number, (fixed, some) in enumerate(groups, 1):
            if fixed:
                ends = flexible and not tagged and number == len(groups)
                self._packed(some, tree, _NO_TAGS if ends else "")
            else:
                for field in some:
                    self.field(field, tree, flexible=flexible, nullable=type(None) in get_args(field.type))
        if flexible and tagged:
            asked = ((self._got(field, tree), self._name(_default(field))) for field in tagged)
            self._add(f"if {' and '.join(f'{got} is {default}' for got, default in asked)}:", "    out.append(NOTHING)")
            self._add("else:", f"    write_tags({tree}, out, {self._name(_plan(tagged))})")
        elif flexible and (not groups or not groups[-1][0]):
            self._add("out.append(NOTHING)")

    def field(self, field: _Field, tree: str, *, flexible: bool, nullable: bool) -> None:
        kind, value = field.metadata.get("kafka_type"), f"value{len(self._lines)}"
        self._add(f"{value} = {self._got(field, tree)}")
        if is_array(field.type):
            self._array(field, kind, value, flexible=flexible)
        elif kind is not None:
            self._value(kind, value, flexible=flexible, nullable=nullable)
        elif nullable:  # KIP-893
            self._add(f"if {value} is None:", "    out.append(ABSENT)", "else:", "    out.append(PRESENT)")
            with self._lines.within():
                self.message(message_class(field.type), value)
        else:
            self.message(message_class(field.type), value)

    def _packed(self, fields: Sequence[_Field], tree: str, end: str) -> None:
        kinds = [field.metadata["kafka_type"] for field in fields]
        pack = self._name(struct.Struct(">" + "".join(map(_FORMATS.__getitem__, kinds)) + end).pack)
        values = (self._number(kind, self._got(field, tree)) for kind, field in zip(kinds, fields, strict=True))
        self._add(f"out.append({pack}({', '.join(values)}))")

    def _got(self, field: _Field, tree: str) -> str:
        return f"{tree}.get({field.name!r}, {self._name(_default(field))})"

    def _number(self, kind: str, value: str) -> str:
        return f"{self._name(_NUMBERS[kind])}({value})" if kind in _NUMBERS else value

    def _value(self, kind: str, value: str, *, flexible: bool, nullable: bool) -> None:
        if kind in _FORMATS:
            pack = self._name(struct.Struct(">" + _FORMATS[kind]).pack)
            self._add(f"out.append({pack}({self._number(kind, value)}))")
        else:
            length = _COMPACT if flexible else "text_length(size)" if kind == "string" else "LONG(size)"
            null = self._null(kind, flexible=flexible) if nullable else "refuse_null()"
            self._add(f"if {value} is None:", f"    out.append({null})")
            if kind == "string":
                self._add("else:", f"    data = {value}.encode()", "    size = len(data)")
                self._add(f"    out.append({length})", "    out.append(data)")
            else:  # which may come in pieces
                self._add(f"elif isinstance({value}, (list, tuple)):", f"    size = sum(map(len, {value}))")
                self._add(f"    out.append({length})", f"    out += {value}")
                self._add("else:", f"    size = len({value})")
                self._add(f"    out.append({length})", f"    out.append({value})")

    def _null(self, kind: str, *, flexible: bool) -> str:
        return "NOTHING" if flexible else "text_length(-1)" if kind == "string" else "LONG(-1)"

    def _array(self, field: _Field, kind: str | None, value: str, *, flexible: bool) -> None:
        length, each = _COMPACT if flexible else "LONG(size)", f"each{len(self._lines)}"
        self._add(f"size = -1 if {value} is None else len({value})", f"out.append({length})")
        self._add("if size > 0:", f"    for {each} in {value}:")
        with self._lines.within(2):
            if kind is None:
                self.message(message_class(field.type), each)
            else:
                self._value(kind, each, flexible=flexible, nullable=False)

    def _name(self, value: object) -> str:
        """A name under which the function finds something; the same for the same."""
        names = self._lines.names
        name = next((name for name, other in names.items() if other is value), f"NAME{len(names)}")
        names[name] = value
        return name


# --- fields


def _is_fixed(field: _Field) -> bool:
    return not is_array(field.type) and field.metadata.get("kafka_type") in _FORMATS


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


def _refuse_null() -> NoReturn:
    raise ValueError("a null where this version knows none")


def _text_length(size: int) -> bytes:
    if size > _LONGEST:
        raise ValueError(f"a text of {size} bytes; this version carries {_LONGEST}")
    return _SHORT.pack(size)


# --- tagged fields (KIP-482)


def _plan(fields: Sequence[_Field]) -> Sequence[tuple[bytes, str, MessageWriter, Any]]:
    """What to know of each, in the order of their tags."""
    return [
        (encoded_unsigned(field.metadata["tag"]), field.name, _writer_of_tagged(field), _default(field))
        for field in sorted(fields, key=lambda field: int(field.metadata["tag"]))
    ]


def _write_tags(tree: Tree, out: list[Buffer], plan: Sequence[tuple[bytes, str, MessageWriter, Any]]) -> None:
    """Those that differ from their defaults."""
    written = []
    for tag, name, write, default in plan:
        value = tree.get(name, default)
        if value == default or (default == () and not value):
            continue
        pieces: list[Buffer] = []
        write(tree, pieces)
        data = b"".join(pieces)
        written += [tag, encoded_unsigned(len(data)), data]
    out.append(encoded_unsigned(len(written) // 3))
    out += written


_HELPERS: Final[Mapping[str, Any]] = {
    "LONG": struct.Struct(">i").pack,
    "varint": encoded_unsigned,
    "text_length": _text_length,
    "refuse_null": _refuse_null,
    "write_tags": _write_tags,
    "ABSENT": b"\xff",
    "PRESENT": b"\1",
    "NOTHING": b"\0",
}
