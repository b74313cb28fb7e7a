"""Avro's bytes as values of Kafka Connect, by the schema with which they were written."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from eosfw.data import Schema, Type
from eosfw.errors import DataError
from eosfw_schema_registry.avro.connect_schemas import member_names, sole_member
from eosfw_schema_registry.avro.form import AvroForm
from eosfw_schema_registry.avro.logical_values import logical_reader

Reader = Callable[[bytes, int], tuple[Any, int]]
"""Reads the value at a place of the bytes, and says where the next one begins."""
_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_LONGEST: Final = 10
"""Bytes of the longest number."""


def value_reader(form: AvroForm, node: Any, schema: Schema) -> Callable[[bytes], Any]:
    """Reads values of a resolved Avro schema whose schema of Connect is this one; DataError, without the value, if the
    bytes are none of it.
    """
    read = _reader(form, node, schema)

    def read_whole(data: bytes) -> Any:
        try:
            return read(data, 0)[0]
        except DataError:
            raise
        except (IndexError, OverflowError, ValueError, struct.error) as why:
            raise DataError(f"the bytes are no value of their Avro schema ({type(why).__name__})") from None

    return read_whole


def _reader(form: AvroForm, node: Any, schema: Schema) -> Reader:
    if isinstance(node, list):
        return _union(form, node, schema)
    read = _of_type(form, node, schema)
    of_logical = logical_reader(schema)
    if of_logical is None:
        return read

    def read_logical(data: bytes, at: int) -> tuple[Any, int]:
        raw, at = read(data, at)
        return of_logical(raw), at

    return read_logical


def _of_type(form: AvroForm, node: Mapping[str, Any], schema: Schema) -> Reader:
    kind = node["type"]
    if kind == "fixed":
        return _fixed(node["size"])
    if kind == "enum":
        return _enum(node["symbols"])
    return _COMPOSED[kind](form, node, schema) if kind in _COMPOSED else _SIMPLE[kind]


def _long(data: bytes, at: int) -> tuple[int, int]:
    rest = shift = 0
    for place in range(at, at + _LONGEST):
        one = data[place]
        rest |= (one & 127) << shift
        if one < 128:
            return (rest >> 1) ^ -(rest & 1), place + 1
        shift += 7
    raise DataError("the bytes are no value of their Avro schema: a number is longer than it may be")


def _boolean(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] != 0, at + 1


def _float(data: bytes, at: int) -> tuple[float, int]:
    return _FLOAT.unpack_from(data, at)[0], at + 4


def _double(data: bytes, at: int) -> tuple[float, int]:
    return _DOUBLE.unpack_from(data, at)[0], at + 8


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _long(data, at)
    return _taken(data, at, length)


def _taken(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    if not 0 <= length <= len(data) - at:
        raise DataError("the bytes are no value of their Avro schema: they end too early")
    return data[at : at + length], at + length


def _string(data: bytes, at: int) -> tuple[str, int]:
    found, at = _bytes(data, at)
    return found.decode("utf-8", "replace"), at


def _fixed(size: int) -> Reader:
    return lambda data, at: _taken(data, at, size)


def _enum(symbols: list[str]) -> Reader:
    def read(data: bytes, at: int) -> tuple[str, int]:
        place, at = _long(data, at)
        return symbols[_member(place, symbols)], at

    return read


def _member(place: int, among: Any) -> int:
    if not 0 <= place < len(among):
        raise DataError("the bytes are no value of their Avro schema: a union or enum has fewer members")
    return place


def _blocks(read: Reader, add: Callable[[Any], None], data: bytes, at: int) -> int:
    """Read the items of an array or map, and say where they end."""
    while True:
        count, at = _long(data, at)
        if count < 0:  # then its size in bytes follows
            count, (_, at) = -count, _long(data, at)
        if count == 0:
            return at
        if count > len(data):
            raise DataError("the bytes are no value of their Avro schema: they end too early")
        for _ in range(count):
            item, at = read(data, at)
            add(item)


def _array(form: AvroForm, node: Mapping[str, Any], schema: Schema) -> Reader:
    if schema.type is Type.MAP:
        return _entries(form, node["items"], schema)
    item = _reader(form, node["items"], _part(schema.value_schema))

    def read(data: bytes, at: int) -> tuple[list[Any], int]:
        made: list[Any] = []
        at = _blocks(item, made.append, data, at)
        return made, at

    return read


def _map(form: AvroForm, node: Mapping[str, Any], schema: Schema) -> Reader:
    value = _reader(form, node["values"], _part(schema.value_schema))

    def pair(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        key, at = _string(data, at)
        one, at = value(data, at)
        return (key, one), at

    return _of_pairs(pair)


def _entries(form: AvroForm, node: Mapping[str, Any], schema: Schema) -> Reader:
    """A map whose keys are no texts: an array of records with key and value."""
    parts = {"key": _part(schema.key_schema), "value": _part(schema.value_schema)}
    fields = [(one["name"], _reader(form, one["type"], parts[one["name"]])) for one in node["fields"]]

    def pair(data: bytes, at: int) -> tuple[tuple[Any, Any], int]:
        made = {}
        for name, read in fields:
            made[name], at = read(data, at)
        return (made["key"], made["value"]), at

    return _of_pairs(pair)


def _of_pairs(pair: Reader) -> Reader:
    def read(data: bytes, at: int) -> tuple[dict[Any, Any], int]:
        made: list[Any] = []
        at = _blocks(pair, made.append, data, at)
        return dict(made), at

    return read


def _record(form: AvroForm, node: Mapping[str, Any], schema: Schema) -> Reader:
    fields = [
        (field.name, _reader(form, one["type"], field.schema))
        for one, field in zip(node["fields"], schema.fields, strict=True)
    ]

    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        made = {}
        for name, read_field in fields:
            made[name], at = read_field(data, at)
        return made, at

    return read


def _union(form: AvroForm, union: list[Any], schema: Schema) -> Reader:
    names = member_names(form, union)
    alone = sole_member(form, union) is not None
    members = [
        None if name is None else _reader(form, one, schema if alone else _part(schema.field(name)))
        for name, one in zip(names, union, strict=True)
    ]

    def read(data: bytes, at: int) -> tuple[Any, int]:
        place, at = _long(data, at)
        read_member = members[_member(place, members)]
        if read_member is None:
            return None, at
        value, at = read_member(data, at)
        return (value if alone else dict.fromkeys(schema.names) | {names[place]: value}), at

    return read


def _part(schema: Schema | None) -> Schema:
    assert schema is not None, "made of the same Avro schema"
    return schema


_SIMPLE: Final[Mapping[str, Reader]] = {
    "boolean": _boolean,
    "int": _long,
    "long": _long,
    "float": _float,
    "double": _double,
    "bytes": _bytes,
    "string": _string,
}
_COMPOSED: Final[Mapping[str, Callable[[AvroForm, Mapping[str, Any], Schema], Reader]]] = {
    "array": _array,
    "map": _map,
    "record": _record,
}
