"""Schemas and columns of Arrow (`pyarrow`), as schemas of Kafka Connect and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eosfw.data.logical import DATE, DECIMAL_NAME, TIME, TIMESTAMP, decimal, decimal_scale
from eosfw.data.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Field,
    Schema,
    Type,
    array,
    map_of,
    struct,
)
from eosfw.errors import DataError

__all__ = ["arrow_type", "fitted_array", "plain_value", "plain_values", "schema_of_arrow", "to_arrow_schema"]

_PRECISION = "connect.decimal.precision"
"""The parameter in which Confluent's connectors keep the digits of a Decimal."""
_MOST_DIGITS = 38
_KINDS: Sequence[tuple[Callable[[pa.DataType], bool], Schema]] = (
    (pa.types.is_boolean, BOOLEAN),
    (pa.types.is_int8, INT8),
    (pa.types.is_int16, INT16),
    (pa.types.is_uint8, INT16),
    (pa.types.is_int32, INT32),
    (pa.types.is_uint16, INT32),
    (pa.types.is_int64, INT64),
    (pa.types.is_uint32, INT64),
    (pa.types.is_float16, FLOAT32),
    (pa.types.is_float32, FLOAT32),
    (pa.types.is_float64, FLOAT64),
    (pa.types.is_string, STRING),
    (pa.types.is_large_string, STRING),
    (pa.types.is_string_view, STRING),
    (pa.types.is_binary, BYTES),
    (pa.types.is_large_binary, BYTES),
    (pa.types.is_binary_view, BYTES),
    (pa.types.is_fixed_size_binary, BYTES),
    (pa.types.is_date, DATE),
    (pa.types.is_time, TIME),
)
_PLAIN = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}
_LOGICAL = {DATE.name: pa.date32(), TIME.name: pa.time32("ms"), TIMESTAMP.name: pa.timestamp("ms", "UTC")}


def schema_of_arrow(kind: pa.Schema | pa.DataType) -> Schema:
    """The schema of records with the fields of an Arrow schema, or of values of an Arrow type.

    Unsigned numbers become the next wider signed ones; nullable fields, as they are in Arrow unless said otherwise,
    are optional. DataError for what has no counterpart: uint64, durations, intervals, timestamps without time zone;
    and for decimals of more than 38 digits.
    """
    if isinstance(kind, pa.Schema):
        return struct([Field(one.name, _field(one)) for one in kind])
    return _schema(kind)


def _field(one: pa.Field) -> Schema:
    try:
        schema = _schema(one.type)
    except DataError as why:
        raise DataError(f"field {one.name!r}: {why}") from None
    return schema.as_optional() if one.nullable else schema


def _schema(kind: pa.DataType) -> Schema:
    for holds, make in _PARTS:
        if holds(kind):
            return make(kind)
    for holds, schema in _KINDS:
        if holds(kind):
            return schema
    raise DataError(f"Arrow's type {kind} has no counterpart in Kafka Connect: cast the column to another type")


def _decimal(kind: pa.DataType) -> Schema:
    if kind.precision > _MOST_DIGITS:
        raise DataError(
            f"Arrow's type {kind} may have more than {_MOST_DIGITS} digits: cast the column to another type"
        )
    scaled = decimal(kind.scale)
    return replace(scaled, parameters={**scaled.parameters, _PRECISION: str(kind.precision)})


def _timestamp(kind: pa.DataType) -> Schema:
    if kind.tz is None:
        raise DataError("a timestamp without time zone is no moment: cast it, such as to timestamp('ms', 'UTC')")
    return TIMESTAMP


_PARTS: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Schema]]] = (
    (pa.types.is_dictionary, lambda kind: _schema(kind.value_type)),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_struct, lambda kind: struct([Field(one.name, _field(one)) for one in kind])),
    (pa.types.is_map, lambda kind: map_of(_schema(kind.key_type), _field(kind.item_field))),
    (pa.types.is_list, lambda kind: array(_field(kind.value_field))),
    (pa.types.is_large_list, lambda kind: array(_field(kind.value_field))),
    (pa.types.is_fixed_size_list, lambda kind: array(_field(kind.value_field))),
)


def to_arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of the fields of a STRUCT; names, versions, defaults and docs have no place there."""
    if schema.type is not Type.STRUCT:
        raise DataError(f"only a STRUCT has an Arrow schema, not {schema.type.name}")
    return pa.schema(map(_arrow_field, schema.fields))


def arrow_type(schema: Schema) -> pa.DataType:
    """The Arrow type of values of a schema."""
    if schema.name == DECIMAL_NAME:
        return pa.decimal128(int(schema.parameters.get(_PRECISION, _MOST_DIGITS)), decimal_scale(schema))
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.type is Type.STRUCT:
        return pa.struct(map(_arrow_field, schema.fields))
    if schema.value_schema is None:
        return _PLAIN[schema.type]
    values = pa.field("item", arrow_type(schema.value_schema), nullable=schema.value_schema.optional)
    if schema.key_schema is None:
        return pa.list_(values)
    return pa.map_(arrow_type(schema.key_schema), values.with_name("value"))


def _arrow_field(one: Field) -> pa.Field:
    return pa.field(one.name, arrow_type(one.schema), nullable=one.schema.optional or one.schema.default is not None)


def fitted_array(schema: Schema, column: pa.Array) -> pa.Array:
    """A column as the type of its schema; DataError if a value does not fit."""
    wanted = arrow_type(schema)
    if column.null_count and not schema.optional and schema.default is None:
        raise DataError(f"holds nulls, but its schema ({schema.type.name}) is not optional and has no default")
    if column.type == wanted:
        return column
    try:
        return _cast(column, wanted)
    except pa.ArrowException:
        raise DataError(f"is of Arrow's type {column.type}; its schema wants {wanted}") from None


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if not _holds_same(column.type, wanted):
        raise pa.ArrowTypeError("Arrow makes values of nearly any type of those of another")
    if pa.types.is_timestamp(wanted) or pa.types.is_time(wanted):
        # What is below a millisecond is cut off, downwards; a plain cast cuts towards zero, so later before 1970.
        if pa.types.is_timestamp(wanted) and column.type.unit in ("us", "ns"):
            column = pc.floor_temporal(column, unit="millisecond")
        return column.cast(wanted, safe=False)
    made = column.cast(wanted)
    if pa.types.is_float32(wanted) and pc.sum(pc.is_inf(made)) != pc.sum(pc.is_inf(column.cast(pa.float64()))):
        raise pa.ArrowInvalid("a number is beyond 32 bits")
    return made


def _holds_same(given: pa.DataType, wanted: pa.DataType, *, is_part: bool = False) -> bool:
    """Whether values of a type are those of another: what a cast makes otherwise is decided one by one."""
    if pa.types.is_dictionary(given):
        return _holds_same(given.value_type, wanted, is_part=is_part)
    if pa.types.is_null(given):
        return True
    if pa.types.is_nested(wanted):
        return _holds_same_parts(given, wanted)
    if pa.types.is_floating(wanted):
        # Whether a number is beyond the range is looked at in whole columns alone.
        return pa.types.is_integer(given) or _is_real(given, wanted.bit_width if is_part else 64)
    return any(is_kind(wanted) and any(of_given(given) for of_given in kinds) for is_kind, kinds in _SAME)


def _holds_same_parts(given: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_struct(wanted):
        return pa.types.is_struct(given) and _have_same_fields(given, wanted)
    if pa.types.is_map(wanted):
        return (
            pa.types.is_map(given)
            and _holds_same(given.key_type, wanted.key_type, is_part=True)
            and _holds_same(given.item_type, wanted.item_type, is_part=True)
        )
    is_list = any(is_kind(given) for is_kind in _LISTS)
    return is_list and _holds_same(given.value_type, wanted.value_type, is_part=True)


def _is_real(kind: pa.DataType, most_bits: int) -> bool:
    return bool(pa.types.is_floating(kind) and kind.bit_width <= most_bits)


def _have_same_fields(given: pa.DataType, wanted: pa.DataType) -> bool:
    types = {one.name: one.type for one in given}
    return types.keys() == {one.name for one in wanted} and all(
        _holds_same(types[one.name], one.type, is_part=True) for one in wanted
    )


_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_SAME: Sequence[tuple[Callable[[pa.DataType], bool], Sequence[Callable[[pa.DataType], bool]]]] = (
    (pa.types.is_boolean, (pa.types.is_boolean,)),
    (pa.types.is_integer, (pa.types.is_integer,)),
    (pa.types.is_decimal, (pa.types.is_decimal, pa.types.is_integer)),
    (pa.types.is_string, (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)),
    (
        pa.types.is_binary,
        (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
    ),
    (pa.types.is_date, (pa.types.is_date,)),
    (pa.types.is_time, (pa.types.is_time,)),
    (pa.types.is_timestamp, (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,)),
)
"""Types with those whose values they hold as they are, or not at all."""


def plain_values(column: pa.Array) -> list[Any]:
    """The values of an array as Python's; maps are dicts, which Arrow gives as lists of pairs."""
    values: list[Any] = column.to_pylist()
    return [_with_dicts(column.type, one) for one in values] if _holds_map(column.type) else values


def plain_value(one: pa.Scalar) -> Any:
    """One value of an array as Python's."""
    value = one.as_py()
    return _with_dicts(one.type, value) if _holds_map(one.type) else value


def _holds_map(kind: pa.DataType) -> bool:
    if not pa.types.is_nested(kind):
        return False
    return pa.types.is_map(kind) or any(_holds_map(kind.field(at).type) for at in range(kind.num_fields))


def _with_dicts(kind: pa.DataType, value: Any) -> Any:
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return {_with_dicts(kind.key_type, key): _with_dicts(kind.item_type, one) for key, one in value}
    if pa.types.is_struct(kind):
        return {field.name: _with_dicts(field.type, value[field.name]) for field in kind}
    return [_with_dicts(kind.value_type, one) for one in value]
