"""The schema of a column, and what makes values of its texts."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from eosfw.data import (
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    Type,
    array,
    decimal,
)
from eosfw_postgres.types import instants, intervals, numbers, opaque, text_arrays
from eosfw_postgres.types.arrays import array_parser
from eosfw_postgres.types.catalog import Catalog, CatalogType
from eosfw_postgres.types.schemas import (
    GEOMETRY_POINT,
    INTERVAL_TEXT,
    JSON,
    LTREE,
    TSVECTOR,
    UUID,
    XML,
    ZONED_TIME,
    ZONED_TIMESTAMP,
    bits,
    enum,
    time_type,
)
from eosfw_postgres.types.settings import TypeSettings

__all__ = ["ColumnType", "Texts", "column_type"]

Texts: TypeAlias = Sequence["str | None"]
"""Values of a column as the server's output functions write them; None is null."""

_MOST_BITS = 2_147_483_647
_TRUTH = {"t": True, "f": False}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """How a column is shown."""

    schema: Schema
    """Of values that are not null."""
    parse: Callable[[Texts], list[Any]]
    """Makes the values of many texts at once; DataError, which shows no value, if one has none."""
    unavailable: Any = None
    """What stands for a value that the server does not send, since it did not change."""
    missing: Any = None
    """What stands for a value that a column NOT NULL has but the server does not send, as in a deleted row."""
    parse_array: text_arrays.ArrayParser | None = None
    """Makes the values of an array of texts, where it can; None if each text has to be looked at."""


def column_type(oid: int, typmod: int, settings: TypeSettings, catalog: Catalog) -> ColumnType | None:
    """How a column of a type is shown; None for one that is left out, since no schema can say it.

    `catalog` has the type and those that it is made of; one that it lacks was dropped since, and is left out.
    """
    if oid not in catalog:
        return None
    kind = catalog[oid]
    while kind.base:
        typmod = kind.base_typmod if kind.base_typmod != -1 else typmod
        kind = catalog[kind.base]
    return _array(kind, typmod, settings, catalog) if kind.element else _scalar(kind, typmod, settings)


def _scalar(kind: CatalogType, typmod: int, settings: TypeSettings) -> ColumnType | None:
    if kind.labels:
        return _of_texts(enum(kind.labels), settings)
    made = _TYPES.get(kind.name)
    if made is not None and kind.kind in "br":
        return made(_Asked(typmod, settings))
    if not settings.unknown_types:
        return None
    show = opaque.shown_bytes(settings.binary_mode)
    return _by_one(
        opaque.binary_schema(settings.binary_mode),
        lambda text: show(text.encode()),
        show(settings.placeholder.encode()),
        show(b""),
    )


def _array(kind: CatalogType, typmod: int, settings: TypeSettings, catalog: Catalog) -> ColumnType | None:
    element = column_type(kind.element, typmod, settings, catalog)
    if element is None:
        return None
    parse = array_parser(element.parse, ";" if catalog[kind.element].name == "box" else ",")
    return _by_one(array(element.schema.as_optional()), parse, _unavailable_items(element, settings), [])


def _unavailable_items(element: ColumnType, settings: TypeSettings) -> Any:
    """What stands for an array that did not change: numbers are the bytes of the placeholder."""
    if element.schema.name == UUID.name:
        return [str(uuid.UUID(bytes=_name_based(settings.placeholder)))]
    if element.schema.type in (Type.INT16, Type.INT32, Type.INT64) and element.schema.name is None:
        return list(settings.placeholder.encode())
    return None if element.unavailable is None else [element.unavailable]


def _name_based(name: str) -> bytes:
    """The bytes of Java's `UUID.nameUUIDFromBytes`."""
    import hashlib

    made = bytearray(hashlib.md5(name.encode(), usedforsecurity=False).digest())
    made[6] = made[6] & 0x0F | 0x30
    made[8] = made[8] & 0x3F | 0x80
    return bytes(made)


def _by_one(
    schema: Schema,
    parse: Callable[[str], Any],
    unavailable: Any = None,
    missing: Any = None,
    parse_array: text_arrays.ArrayParser | None = None,
) -> ColumnType:
    """A type whose values are made one by one, if they do not come in an array."""

    def parse_all(texts: Texts) -> list[Any]:
        if None in texts:
            return [None if text is None else parse(text) for text in texts]
        return list(map(parse, texts))  # type: ignore[arg-type] # no None among them

    return ColumnType(schema, parse_all, unavailable, missing, parse_array)


def _of_texts(schema: Schema, settings: TypeSettings, missing: str = "") -> ColumnType:
    """A type whose values are their texts."""
    return ColumnType(schema, list, settings.placeholder, missing, text_arrays.same)


class _Asked(NamedTuple):
    """What a column and the properties say beside the type."""

    typmod: int
    settings: TypeSettings


_Maker: TypeAlias = Callable[[_Asked], ColumnType]


def _fixed(
    schema: Schema, parse: Callable[[str], Any], missing: Any, parse_array: text_arrays.ArrayParser | None = None
) -> _Maker:
    return lambda _: _by_one(schema, parse, None, missing, parse_array)


def _text(schema: Schema = STRING, missing: str = "") -> _Maker:
    return lambda asked: _of_texts(schema, asked.settings, missing)


def _numeric(asked: _Asked) -> ColumnType:
    mode = asked.settings.decimal_mode
    schema = numbers.numeric_schema(mode, asked.typmod)
    if mode == "double":
        return _by_one(schema, float, None, 0.0)
    if mode == "string":
        return _by_one(schema, numbers.text_of_numeric, asked.settings.placeholder, "0")
    parse = numbers.variable_scale if schema.type is Type.STRUCT else numbers.precise
    return _by_one(schema, parse, None, parse("0"), numbers.precise_arrays(asked.typmod))


def _money(asked: _Asked) -> ColumnType:
    schema = {"precise": decimal(asked.settings.money_digits), "double": FLOAT64, "string": STRING}
    parse = numbers.money_of(asked.settings.decimal_mode, asked.settings.money_digits)
    return _by_one(schema[asked.settings.decimal_mode], parse, None, parse("0" * (asked.settings.money_digits + 1)))


def _bytea(asked: _Asked) -> ColumnType:
    mode = asked.settings.binary_mode
    show = opaque.shown_bytes(mode)
    parse = opaque.bytes_of if mode == "bytes" else lambda text: show(opaque.bytes_of(text))
    # As Debezium does it: hex has the placeholder as it is.
    unavailable = asked.settings.placeholder if mode == "hex" else show(asked.settings.placeholder.encode())
    return _by_one(opaque.binary_schema(mode), parse, unavailable, show(b""))


def _bits(*, varying: bool) -> _Maker:
    def made(asked: _Asked) -> ColumnType:
        length = asked.typmod if asked.typmod > 0 else _MOST_BITS if varying else 1
        if length == 1:
            return _by_one(BOOLEAN, "1".__eq__, None, False)
        return _by_one(bits(length), opaque.bits_of, None, b"")

    return made


def _precision(typmod: int) -> int:
    """The digits behind the seconds: as many as the server keeps, unless the column says fewer."""
    return typmod if typmod >= 0 else 6


def _date(asked: _Asked) -> ColumnType:
    schema, parse = instants.date_column(asked.settings.time_mode)
    counted = text_arrays.dates if parse is instants.days else None
    return _by_one(schema, parse, None, parse("1970-01-01"), counted)


def _time(asked: _Asked) -> ColumnType:
    schema, parse = instants.time_column(asked.settings.time_mode, _precision(asked.typmod))
    return _by_one(schema, parse, None, parse("00:00:00"))


def _timestamp(asked: _Asked) -> ColumnType:
    schema, parse = instants.timestamp_column(asked.settings.time_mode, _precision(asked.typmod))
    counted = text_arrays.micros if parse is instants.micros else None
    return _by_one(schema, parse, None, parse("1970-01-01 00:00:00"), counted)


def _timestamptz(asked: _Asked) -> ColumnType:
    precision = _precision(asked.typmod)
    parse = instants.zoned_timestamp(precision)
    by_array = text_arrays.zoned_timestamps(precision, parse)
    return _by_one(ZONED_TIMESTAMP, parse, None, "1970-01-01T00:00:00Z", by_array)


def _interval(asked: _Asked) -> ColumnType:
    if asked.settings.interval_mode == "string":
        return _by_one(INTERVAL_TEXT, intervals.iso_interval, None, "P0Y0M0DT0H0M0S")
    return _by_one(time_type(Type.INT64, "MicroDuration"), intervals.micro_duration, None, 0)


def _hstore(asked: _Asked) -> ColumnType:
    name = asked.settings.placeholder
    if asked.settings.hstore_mode == "map":
        return _by_one(opaque.hstore_schema("map"), opaque.hstore_map, {name: name}, {})
    unavailable = opaque.hstore_json(f'"{name}"=>"{name}"')
    return _by_one(opaque.hstore_schema("json"), opaque.hstore_json, unavailable, "{}")


_INTEGER64 = _fixed(INT64, int, 0, text_arrays.numbers("int64"))
_TYPES: dict[str, _Maker] = {
    "int2": _fixed(INT16, int, 0, text_arrays.numbers("int16")),
    "int4": _fixed(INT32, int, 0, text_arrays.numbers("int32")),
    "int8": _INTEGER64,
    "oid": _INTEGER64,
    "float4": _fixed(FLOAT32, float, 0.0, text_arrays.numbers("float32")),
    "float8": _fixed(FLOAT64, float, 0.0, text_arrays.numbers("float64")),
    "bool": _fixed(BOOLEAN, _TRUTH.__getitem__, False, text_arrays.booleans),
    "numeric": _numeric,
    "money": _money,
    "bytea": _bytea,
    "bit": _bits(varying=False),
    "varbit": _bits(varying=True),
    "date": _date,
    "time": _time,
    "timetz": _fixed(ZONED_TIME, instants.zoned_time, "00:00:00Z"),
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "interval": _interval,
    "uuid": _text(UUID),
    "json": _text(JSON),
    "jsonb": _text(JSON),
    "xml": _text(XML),
    "tsvector": _text(TSVECTOR),
    "ltree": _text(LTREE),
    "hstore": _hstore,
    "point": _fixed(GEOMETRY_POINT, opaque.point, opaque.point("(0,0)")),
    **dict.fromkeys(("text", "varchar", "bpchar", "char", "name", "citext", "isbn"), _text()),
    **dict.fromkeys(("inet", "cidr", "macaddr", "macaddr8"), _text()),
    **dict.fromkeys(("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange"), _text()),
}
