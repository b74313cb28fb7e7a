"""Connect's schema for the JSON Schema of a stream, with what makes its values fit.

| JSON Schema | Connect |
|---|---|
| `integer` | INT64 |
| `number` | FLOAT64; by `decimal.handling.mode` a STRING, or a Decimal with the scale that `multipleOf` says |
| `string` | STRING; by `time.precision.mode` a Timestamp, Date or Time where `format` says so |
| `boolean` | BOOLEAN |
| `object` with `properties` | STRUCT |
| `array` with `items` | ARRAY |
| anything else: no type, several types, an object of unknown properties | a STRING with the JSON |

A property that is not `required`, or that may be `null`, is optional.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

from eosfw.data import (
    BOOLEAN,
    DATE,
    FLOAT64,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Field,
    Schema,
    Type,
    array,
    decimal,
    struct,
)
from eosfw_singer.state_text import value_text

JSON: Final = Schema(Type.STRING, name="io.debezium.data.Json", version=1)
"""A text that is JSON, under the name that Debezium gives it."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """A schema with the function that makes a value of JSON fit it; None where it fits as it is."""

    schema: Schema
    convert: Callable[[Any], Any] | None = None
    members: Mapping[str, ValueType] | None = None
    """The types of the fields of a struct."""

    def apply(self, value: Any) -> Any:
        """The value that fits; null stays null."""
        return value if self.convert is None or value is None else self.convert(value)


@dataclass(frozen=True, slots=True)
class TypeSettings:
    """What the connector's properties say about types."""

    decimals: str = "double"
    times: str = "isostring"

    @property
    def exact_numbers(self) -> bool:
        """Whether numbers with a fraction must be read as Decimal."""
        return self.decimals != "double"


def value_type(schema: Any, settings: TypeSettings, name: str | None = None) -> ValueType:
    """The type of a JSON Schema; `name` is that of a struct."""
    return _Reader(schema, settings).of(schema, name)


class _Reader:
    """Reads one document, whose parts may refer to each other."""

    def __init__(self, root: Any, settings: TypeSettings) -> None:
        self._root, self._settings = root, settings

    def of(self, schema: Any, name: str | None, outer: frozenset[str] = frozenset()) -> ValueType:
        """The type of a part within those that the references `outer` lead to."""
        schema, inner = self._resolved(schema, outer)
        kinds, optional = _kinds(schema)
        variants = [one for key in ("anyOf", "oneOf") for one in schema.get(key, ())]
        if not kinds and variants:
            return self._one_of(variants, name, inner)
        if len(kinds) > 1:
            made = ValueType(JSON, _json_text)
        else:
            made = self._of_kind(kinds[0] if kinds else "", schema, name, inner)
        return replace(made, schema=made.schema.as_optional()) if optional or not kinds else made

    def _one_of(self, variants: list[Any], name: str | None, outer: frozenset[str]) -> ValueType:
        some = [one for one in variants if not _is_null(one)]
        found = {made.schema.as_optional(): made for made in (self.of(one, name, outer) for one in some)}
        optional = len(some) < len(variants) or any(made.schema.optional for made in found.values())
        if len(found) == 1:
            (made,) = found.values()
        elif found and all(schema.type is Type.STRING and schema.name is None for schema in found):
            made = ValueType(STRING)
        else:
            made = ValueType(JSON, _json_text)
        return replace(made, schema=made.schema.as_optional()) if optional or not found else made

    def _of_kind(self, kind: str, schema: Any, name: str | None, outer: frozenset[str]) -> ValueType:
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return simple(schema, self._settings)
        if kind == "array" and isinstance(schema.get("items"), dict):
            items = self.of(schema["items"], None, outer)
            return ValueType(array(items.schema), _of_array(items))
        if kind == "object" and schema.get("properties"):
            return self._struct(schema, name, outer)
        return ValueType(JSON, _json_text)

    def _struct(self, schema: Any, name: str | None, outer: frozenset[str]) -> ValueType:
        required = schema.get("required") or ()
        members = {one: self.of(part, None, outer) for one, part in schema["properties"].items()}
        fields = [
            Field(one, made.schema if one in required else made.schema.as_optional()) for one, made in members.items()
        ]
        return ValueType(struct(fields, name), _of_object(members), members)

    def _resolved(self, schema: Any, outer: frozenset[str]) -> tuple[dict[str, Any], frozenset[str]]:
        """What a reference within the document leads to; {} if that is nothing, or what the reference is a part of."""
        while isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str):
            if reference in outer:
                return {}, outer
            outer |= {reference}
            schema = self._root
            for part in filter(None, reference.removeprefix("#").split("/")):
                schema = schema.get(part) if isinstance(schema, dict) else None
        return (schema if isinstance(schema, dict) else {}), outer


def _kinds(schema: Any) -> tuple[tuple[str, ...], bool]:
    """The types of a schema without `null`, and whether that is one of them."""
    kind = schema.get("type", ())
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    if set(kinds) - {"null"} == {"integer", "number"}:
        kinds = ("number", *(one for one in kinds if one == "null"))
    return tuple(one for one in kinds if one != "null"), "null" in kinds


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") in ("null", ["null"])


def _json_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:  # there is a Decimal in it
        return value_text(value)


def _whole(value: Any) -> Any:
    # To JSON Schema 3.0 is a whole number.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return value


def _number(schema: Any, settings: TypeSettings) -> ValueType:
    if settings.decimals == "string":
        return ValueType(STRING, _number_text)
    scale = _scale(schema.get("multipleOf")) if settings.decimals == "precise" else None
    return ValueType(FLOAT64, _float) if scale is None else ValueType(decimal(scale), _decimal)


def _scale(multiple: Any) -> int | None:
    """The digits behind the point of a `multipleOf` that is a power of ten."""
    if isinstance(multiple, bool) or not isinstance(multiple, int | float | Decimal):
        return None
    _, digits, exponent = Decimal(str(multiple)).normalize().as_tuple()
    return -exponent if digits == (1,) and isinstance(exponent, int) and exponent <= 0 else None


def _number_text(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _decimal(value: Any) -> Any:
    return Decimal(str(value)) if isinstance(value, float) else value


def _timestamp(value: Any) -> Any:
    moment = _parsed(datetime.fromisoformat, value)
    return moment.replace(tzinfo=UTC) if isinstance(moment, datetime) and moment.tzinfo is None else moment


def _date(value: Any) -> Any:
    # Some taps write a date as the midnight at which it begins.
    return _parsed(date.fromisoformat, value[:10] if isinstance(value, str) else value)


_SOME_DAY: Final = date(2000, 1, 1)


def _time(value: Any) -> Any:
    moment = _parsed(time.fromisoformat, value)
    if not isinstance(moment, time) or moment.tzinfo is None:
        return moment
    return datetime.combine(_SOME_DAY, moment).astimezone(UTC).time()


def _parsed(parse: Callable[[str], Any], value: Any) -> Any:
    try:
        return parse(value)
    except (TypeError, ValueError):
        return value  # which does not fit its schema: the framework names the field, and `errors.tolerance` counts


_TIMES: Final = {
    "date-time": ValueType(TIMESTAMP, _timestamp),
    "date": ValueType(DATE, _date),
    "time": ValueType(TIME, _time),
}


def _string(schema: Any, settings: TypeSettings) -> ValueType:
    made = _TIMES.get(schema.get("format")) if settings.times == "connect" else None
    return made or ValueType(STRING)


_SIMPLE: Final[Mapping[str, Callable[[Any, TypeSettings], ValueType]]] = {
    "integer": lambda *_: ValueType(INT64, _whole),
    "number": _number,
    "boolean": lambda *_: ValueType(BOOLEAN),
    "string": _string,
}


def _of_array(items: ValueType) -> Callable[[Any], Any] | None:
    if items.convert is None:
        return None
    return lambda value: [items.apply(one) for one in value] if isinstance(value, list) else value


def _of_object(members: dict[str, ValueType]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: made.apply(value.get(name)) for name, made in members.items()}

    return convert
