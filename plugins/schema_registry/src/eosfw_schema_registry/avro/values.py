"""Values of Kafka Connect as Avro's bytes.

By the schema of Connect, and in Python: it says which member of a union a value is, where a library for Avro would try
all members for each value, which takes longer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    days_of,
    decimal_bytes,
    decimal_scale,
    default_of,
    millis_of_day,
    millis_since_1970,
)
from eosfw.errors import DataError
from eosfw_schema_registry.avro.form import DECIMAL, AvroForm, fixed_size, is_union

Encoder = Callable[[Any], bytes]
_NULL_FIRST: Final = b"\0"
"""The first member of a union, which is null unless there is a default; the second one is `_SECOND`."""
_SECOND: Final = b"\2"
_END: Final = b"\0"
"""Behind the last block of an array or a map."""
_FLOAT: Final = struct.Struct("<f").pack
_DOUBLE: Final = struct.Struct("<d").pack
_SHORT: Final = [bytes((one,)) for one in range(128)]


def value_encoder(form: AvroForm, schema: Schema) -> Encoder:
    """Writes values that fit a schema, in the form that `eosfw.data.fitted` gives.

    DataError for a null that the schema does not allow, and for what its type of Avro does not hold.
    """
    encode = _encoder(form, schema)
    if is_union(schema):
        return encode
    if not schema.optional:
        # A null that its default lets through, where only the fields of structs have defaults.
        return encode if schema.default is None else _required(encode)
    null, one = (_SECOND, _NULL_FIRST) if default_first(schema) else (_NULL_FIRST, _SECOND)
    return lambda value: null if value is None else one + encode(value)


def default_first(schema: Schema) -> bool:
    """Whether the union of an optional schema begins with its type; that of a struct never does."""
    return schema.default is not None and schema.type is not Type.STRUCT


def _encoder(form: AvroForm, schema: Schema) -> Encoder:
    """Writes values that are not null."""
    if is_union(schema):
        return _union(form, schema)
    if form.is_enum(schema):
        return _enum(form, schema)
    if schema.type is Type.BYTES and (schema.name == DECIMAL or fixed_size(schema) is not None):
        return _decimal_or_fixed(schema)
    if (schema.type, schema.name) in _MOMENTS:
        return _MOMENTS[schema.type, schema.name]
    make = _CONTAINERS.get(schema.type)
    return _PRIMITIVE[schema.type] if make is None else make(form, schema)


def varint(number: int) -> bytes:
    """A whole number as Avro's int and long are written: seven bits in each byte, the sign and low ones first."""
    rest = number << 1 if number >= 0 else ~(number << 1)
    if rest < 128:
        return _SHORT[rest]
    made = bytearray()
    while rest > 127:
        made.append(rest & 127 | 128)
        rest >>= 7
    made.append(rest)
    return bytes(made)


def _string(value: str) -> bytes:
    try:
        return _bytes(value.encode())
    except UnicodeEncodeError:  # Java writes question marks, with which two texts may become one
        raise DataError("a text holds half a character, which UTF-8 cannot write") from None


def _bytes(value: bytes) -> bytes:
    return varint(len(value)) + value


def _boolean(value: Any) -> bytes:
    return b"\1" if value else b"\0"


def _decimal_or_fixed(schema: Schema) -> Encoder:
    size, decimals = fixed_size(schema), schema.name == DECIMAL
    scale = decimal_scale(schema) if decimals else 0

    def encode(value: Any) -> bytes:
        data: bytes = decimal_bytes(value, scale) if decimals else value
        if size is None:
            return _bytes(data)
        if decimals:
            data = data.rjust(size, b"\xff" if _is_negative(value) else b"\0")
        if len(data) != size:
            raise DataError(f"it has {len(data)} bytes, and its schema says {size} (connect.fixed.size)")
        return data

    return encode


def _is_negative(value: Decimal) -> bool:
    return value.is_signed() and bool(value)


def _enum(form: AvroForm, schema: Schema) -> Encoder:
    known = {symbol: varint(at) for at, symbol in enumerate(form.symbols(schema))}

    def encode(value: str) -> bytes:
        if value not in known:
            raise DataError("it is no symbol of its enum")
        return known[value]

    return encode


def _array(form: AvroForm, schema: Schema) -> Encoder:
    encode = value_encoder(form, _part(schema.value_schema))

    def encode_all(value: list[Any]) -> bytes:
        return varint(len(value)) + b"".join(map(encode, value)) + _END if value else _END

    return encode_all


def _map(form: AvroForm, schema: Schema) -> Encoder:
    # In a map of Avro a key is a mere text, in an entry it may be null.
    encode_key = _string if form.is_avro_map(schema) else value_encoder(form, _part(schema.key_schema))
    encode = value_encoder(form, _part(schema.value_schema))

    def encode_all(value: dict[Any, Any]) -> bytes:
        if not value:
            return _END
        return varint(len(value)) + b"".join([encode_key(key) + encode(one) for key, one in value.items()]) + _END

    return encode_all


def _struct(form: AvroForm, schema: Schema) -> Encoder:
    fields = [(one.name, field_encoder(form, one.schema)) for one in schema.fields]

    def encode_all(value: dict[str, Any]) -> bytes:
        try:
            return b"".join([encode(value[name]) for name, encode in fields])
        except DataError:
            raise _with_field(fields, value) from None

    return encode_all


def _with_field(fields: Sequence[tuple[str, Encoder]], value: Mapping[str, Any]) -> DataError:
    """The error of the first field that has one, with its name."""
    for name, encode in fields:
        try:
            encode(value[name])
        except DataError as why:
            return DataError(f"field {name!r}: {why}")
    raise AssertionError("no field has an error")


def field_encoder(form: AvroForm, schema: Schema) -> Encoder:
    """Writes the values of a field, where a default stands for null."""
    encode = value_encoder(form, schema)
    if schema.default is None or form.ignore_default:
        return encode
    default = encode(default_of(schema))
    return lambda value: default if value is None else encode(value)


def _required(encode: Encoder) -> Encoder:
    def encode_present(value: Any) -> bytes:
        if value is None:
            raise DataError("Found null value for non-optional schema")
        return encode(value)

    return encode_present


def _union(form: AvroForm, schema: Schema) -> Encoder:
    first = 1 if schema.optional else 0
    members = [
        (one.name, varint(at), _encoder(form, replace(one.schema, optional=False)))
        for at, one in enumerate(schema.fields, first)
    ]

    def encode(value: dict[str, Any] | None) -> bytes:
        for name, head, encode_member in members if value is not None else ():
            if value is not None and value[name] is not None:
                return head + encode_member(value[name])
        if not first:
            raise DataError("Found null value for non-optional schema")
        return _NULL_FIRST

    return encode


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("an ARRAY or MAP has the schemas of its parts")
    return schema


_PRIMITIVE: Final[Mapping[Type, Encoder]] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), varint),
    Type.FLOAT32: _FLOAT,
    Type.FLOAT64: _DOUBLE,
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.BYTES: _bytes,
}
_MOMENTS: Final[Mapping[tuple[Type, str | None], Encoder]] = {
    (DATE.type, DATE.name): lambda value: varint(days_of(value)),
    (TIME.type, TIME.name): lambda value: varint(millis_of_day(value)),
    (TIMESTAMP.type, TIMESTAMP.name): lambda value: varint(millis_since_1970(value)),
}
_CONTAINERS: Final[Mapping[Type, Callable[[AvroForm, Schema], Encoder]]] = {
    Type.ARRAY: _array,
    Type.MAP: _map,
    Type.STRUCT: _struct,
}
