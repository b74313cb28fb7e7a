"""Values of JSON as values of Kafka Connect."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    decimal,
    decimal_of,
    decimal_scale,
    default_of,
    fitted,
    time_of_millis,
    timestamp_of_millis,
)
from eosfw.errors import DataError
from eosfw_schema_registry.json_schema.names import (
    DECIMAL_NAME,
    KEY,
    VALUE,
    has_names_for_keys,
    is_union,
    part_of,
)

Convert = Callable[[Any], Any]
_MILLIS_PER_DAY: Final = 86_400_000
_FIRST_DAY: Final = date(1970, 1, 1)
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def parse_json(data: bytes) -> Any:
    """JSON with its numbers as they are written; DataError for what is none."""
    try:
        return json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError):
        raise DataError("it is no JSON") from None


def connect_value(schema: Schema, value: Any) -> Any:
    """The value of a schema; DataError with the path of the field, never with the value, if it is none."""
    try:
        return _converter(schema)(value)
    except _MismatchError as why:
        raise DataError(why.text()) from None


class _MismatchError(Exception):
    """A value of another type; containers add their part of the path on the way out."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.path: list[str] = []

    def text(self) -> str:
        return f"field {'.'.join(self.path)!r} {self.why}" if self.path else f"it {self.why}"


@lru_cache(maxsize=1000)
def _converter(schema: Schema) -> Convert:
    convert = _of_type(schema)
    null = default_of(schema)
    required = not schema.optional and null is None

    def convert_or_null(value: Any) -> Any:
        if value is not None:
            return convert(value)
        if required:
            raise _MismatchError(f"is null, which its schema ({schema.type.name}) does not allow")
        return null

    return convert_or_null


def _of_type(schema: Schema) -> Convert:
    if (schema.type, schema.name) == (Type.BYTES, DECIMAL_NAME):
        return _decimal(schema)
    if (found := _LOGICAL.get((schema.type, schema.name))) is not None:
        return found
    make = _CONTAINERS.get(schema.type)
    return _PRIMITIVE[schema.type] if make is None else make(schema)


def _wrong(value: Any, wanted: Type) -> _MismatchError:
    return _MismatchError(f"is a JSON {_json_type(value)}, where its schema wants {wanted.name}")


def _json_type(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float, Decimal)):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _integer(kind: Type, bits: int) -> Convert:
    limit = 1 << bits - 1

    def convert(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong(value, kind)
        if not -limit <= value < limit:
            raise _MismatchError(f"is a number beyond the {bits} bits of {kind.name}")
        return value

    return convert


def _floating(kind: Type) -> Convert:
    schema = Schema(kind)

    def convert(value: Any) -> float:
        if isinstance(value, str) and value in _NOT_FINITE:
            return _NOT_FINITE[value]
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise _wrong(value, kind)
        # A whole number may be beyond the range of floating-point numbers; in Java it is infinite, too.
        return float(_fitted(schema, float(Decimal(value))))

    return convert


def _fitted(schema: Schema, value: Any) -> Any:
    try:
        return fitted(schema, value)
    except DataError as why:
        raise _MismatchError(str(why).removeprefix("it ")) from None


def _plain(kind: Type, wanted: type) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, wanted):
            raise _wrong(value, kind)
        return value

    return convert


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _wrong(value, Type.BYTES)
    try:
        return b64decode(value, validate=True)
    except ValueError:
        raise _MismatchError("is a text that is no Base64") from None


def _decimal(schema: Schema) -> Convert:
    scale = decimal_scale(schema)
    bare = decimal(scale)

    def convert(value: Any) -> Any:
        if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            return _fitted(bare, Decimal(value))
        return decimal_of(_bytes(value), scale)

    return convert


def _date(value: Any) -> date:
    try:
        return _FIRST_DAY + timedelta(days=_INT32(value))
    except OverflowError:
        raise _MismatchError("is a date beyond the years 1 to 9999") from None


def _time(value: Any) -> time:
    millis = _INT32(value)
    if not 0 <= millis < _MILLIS_PER_DAY:
        raise _MismatchError("is no time of a day")
    return time_of_millis(millis)


def _timestamp(value: Any) -> Any:
    try:
        return timestamp_of_millis(_INT64(value))
    except OverflowError:
        raise _MismatchError("is a timestamp beyond the years 1 to 9999") from None


def _array(schema: Schema) -> Convert:
    convert = _converter(part_of(schema.value_schema))

    def convert_all(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _wrong(value, Type.ARRAY)
        return [_at(place, convert, one) for place, one in enumerate(value)]

    return convert_all


def _map(schema: Schema) -> Convert:
    key, item = _converter(part_of(schema.key_schema)), _converter(part_of(schema.value_schema))
    if has_names_for_keys(schema):

        def convert_object(value: Any) -> dict[Any, Any]:
            if not isinstance(value, Mapping):
                raise _wrong(value, Type.MAP)
            # By its place: a key is data, which errors do not show.
            return {name: _at(place, item, one) for place, (name, one) in enumerate(value.items())}

        return convert_object

    def convert_entries(value: Any) -> dict[Any, Any]:
        if not isinstance(value, list) or not all(isinstance(one, Mapping) and len(one) == 2 for one in value):
            raise _wrong(value, Type.MAP)
        return {
            _at(place, key, one.get(KEY)): _at(place, item, one.get(VALUE)) for place, one in enumerate(value)
        }  # fmt: skip

    return convert_entries


def _struct(schema: Schema) -> Convert:
    if is_union(schema):
        return _union(schema)
    fields = [(one.name, _field(one.schema)) for one in schema.fields]

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _wrong(value, Type.STRUCT)
        return {name: _at(name, of_field, value.get(name, _MISSING)) for name, of_field in fields}

    return convert


_MISSING: Final = object()


def _field(schema: Schema) -> Convert:
    """A member that is missing is the default, or null whatever its schema says."""
    convert, missing = _converter(schema), default_of(schema)
    return lambda value: missing if value is _MISSING else convert(value)


def _union(schema: Schema) -> Convert:
    fields = [(one.name, one.schema, _converter(one.schema)) for one in schema.fields]

    def convert(value: Any) -> dict[str, Any]:
        matched = [(_likeness(of_field, value), name, as_field) for name, of_field, as_field in fields]
        best, name, as_field = max(matched, key=lambda one: one[0])  # the first of those that are as like
        if not best:
            raise _MismatchError(f"is a JSON {_json_type(value)}, which is none of its union")
        return {**dict.fromkeys(schema.names), name: as_field(value)}

    return convert


_SURE: Final = 1 << 30


def _likeness(schema: Schema, value: Any) -> int:
    """How well a value fits a choice of a union: a plain one wholly, a struct by the fields that both have."""
    if schema.type is Type.STRUCT:
        if not isinstance(value, Mapping):
            return 0
        both = [one for one in schema.fields if one.name in value]
        return len(both) + sum(
            _likeness(one.schema, value[one.name]) for one in both if one.schema.type is Type.STRUCT
        )  # fmt: skip
    return _SURE if isinstance(value, _JSON_TYPES[schema.type]) and _is_kind(schema.type, value) else 0


def _is_kind(kind: Type, value: Any) -> bool:
    return (kind is Type.BOOLEAN) == isinstance(value, bool)


def _at(place: object, convert: Convert, value: Any) -> Any:
    try:
        return convert(value)
    except _MismatchError as why:
        why.path.insert(0, str(place))
        raise


_INT32, _INT64 = _integer(Type.INT32, 32), _integer(Type.INT64, 64)
_PRIMITIVE: Final[Mapping[Type, Convert]] = {
    Type.INT8: _integer(Type.INT8, 8),
    Type.INT16: _integer(Type.INT16, 16),
    Type.INT32: _INT32,
    Type.INT64: _INT64,
    Type.FLOAT32: _floating(Type.FLOAT32),
    Type.FLOAT64: _floating(Type.FLOAT64),
    Type.BOOLEAN: _plain(Type.BOOLEAN, bool),
    Type.STRING: _plain(Type.STRING, str),
    Type.BYTES: _bytes,
}
_JSON_TYPES: Final[Mapping[Type, type | tuple[type, ...]]] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), int),
    **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), (int, float, Decimal)),
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: (str, Decimal),
    Type.ARRAY: list,
    Type.MAP: (dict, list),
}
_LOGICAL: Final[Mapping[tuple[Type, str | None], Convert]] = {
    (DATE.type, DATE.name): _date,
    (TIME.type, TIME.name): _time,
    (TIMESTAMP.type, TIMESTAMP.name): _timestamp,
}
_CONTAINERS: Final[Mapping[Type, Callable[[Schema], Convert]]] = {
    Type.ARRAY: _array,
    Type.MAP: _map,
    Type.STRUCT: _struct,
}
