"""Defaults of Kafka Connect's schemas as JSON."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from math import isfinite
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
from eosfw_schema_registry.avro.form import DECIMAL, AvroForm, is_union
from eosfw_schema_registry.avro.names import field_name


def default_json(form: AvroForm, schema: Schema, value: Any) -> Any:
    """A default as JSON, null included."""
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        members = ((one.name, one.schema, value[one.name]) for one in schema.fields)
        made = {field_name(form, name): _default_or_own(form, of, one) for name, of, one in members}
        return next(iter(made.values()), None) if is_union(schema) else made
    if schema.type is Type.ARRAY:
        return [default_json(form, _part(schema.value_schema), one) for one in value]
    if schema.type is Type.MAP:
        keys, values = _part(schema.key_schema), _part(schema.value_schema)
        pairs = [[default_json(form, keys, key), default_json(form, values, one)] for key, one in value.items()]
        return dict(pairs) if form.is_avro_map(schema) else pairs
    return _LOGICAL_DEFAULTS.get(schema.name, _PLAIN_DEFAULTS.get(schema.type, _same))(schema, value)


def _default_or_own(form: AvroForm, schema: Schema, value: Any) -> Any:
    return default_json(form, schema, default_of(schema) if value is None else value)


def is_default(avro: Any, value: Any) -> bool:
    """Whether Avro takes a value as the default of this type."""
    if isinstance(avro, list):
        return any(is_default(one, value) for one in avro)
    kind = avro["type"]
    if kind == "record":
        return isinstance(value, dict) and all(
            is_default(one["type"], value.get(one["name"], one.get("default"))) for one in avro["fields"]
        )
    if kind == "array":
        return isinstance(value, list) and all(is_default(avro["items"], one) for one in value)
    if kind == "map":
        return isinstance(value, dict) and all(is_default(avro["values"], one) for one in value.values())
    return bool((value is None) == (kind == "null"))


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("an ARRAY or MAP has the schemas of its parts")
    return schema


def _same(_: Schema, value: Any) -> Any:
    return value


def _real(value: float) -> Any:
    """A number of JSON; those that JSON has not are texts, as Jackson writes them."""
    return value if isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124


def _single(value: float) -> Any:
    """The shortest number that is this one in 32 bits, as Java writes it."""
    if not isfinite(value):
        return _real(value)
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next((float(one) for one in texts if _in_32_bits(one) == value), value)


def _in_32_bits(text: str) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", float(text)))[0])
    except OverflowError:
        return float("inf")


_PLAIN_DEFAULTS: Final[Mapping[Type, Callable[[Schema, Any], Any]]] = {
    Type.FLOAT32: lambda _, value: _single(value),
    Type.FLOAT64: lambda _, value: _real(value),
    Type.BYTES: lambda _, value: value.decode("latin-1"),
}
_LOGICAL_DEFAULTS: Final[Mapping[str | None, Callable[[Schema, Any], Any]]] = {
    DECIMAL: lambda schema, value: decimal_bytes(value, decimal_scale(schema)).decode("latin-1"),
    DATE.name: lambda _, value: days_of(value),
    TIME.name: lambda _, value: millis_of_day(value),
    TIMESTAMP.name: lambda _, value: millis_since_1970(value),
}
