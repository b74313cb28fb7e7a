"""Schemas of Kafka Connect with values, at random."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from eosfw.data import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    array,
    decimal,
    map_of,
    struct,
)

NAMES = ("a", "b", "c", "Dee", "e_f")
_FROM, _TO = datetime(1, 1, 3), datetime(9999, 12, 29)  # noqa: DTZ001 - hypothesis adds the zone
MILLIS = 1000
PLAIN: dict[Schema, st.SearchStrategy[Any]] = {
    INT8: st.integers(-(2**7), 2**7 - 1),
    INT16: st.integers(-(2**15), 2**15 - 1),
    INT32: st.integers(-(2**31), 2**31 - 1),
    INT64: st.integers(-(2**63), 2**63 - 1),
    FLOAT32: st.floats(width=32, allow_nan=False),
    FLOAT64: st.floats(allow_nan=False),
    BOOLEAN: st.booleans(),
    STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    BYTES: st.binary(max_size=8),
    decimal(2): st.decimals(-(10**30), 10**30, places=2).map(lambda each: each or Decimal("0.00")),
    DATE: st.dates(),
    TIME: st.times().map(lambda each: each.replace(microsecond=each.microsecond // MILLIS * MILLIS)),
    TIMESTAMP: st.datetimes(_FROM, _TO, timezones=st.just(UTC)).map(
        lambda each: each.replace(microsecond=each.microsecond // MILLIS * MILLIS)
    ),
}


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """What fits a schema, in the framework's form."""
    if schema.optional or schema.default is not None:
        return st.none() | values(replace(schema, optional=False, default=None))
    if schema.type is Type.STRUCT:
        return st.fixed_dictionaries({one.name: values(one.schema) for one in schema.fields})
    if schema.type is Type.ARRAY:
        return st.lists(values(_part(schema.value_schema)), max_size=3)
    if schema.type is Type.MAP:
        keys, parts = _part(schema.key_schema), _part(schema.value_schema)
        return st.dictionaries(values(keys), values(parts), max_size=3)
    return PLAIN[replace(schema, doc=None, parameters=_scale(schema))]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2, *, defaults: bool = True, lists_of_lists: bool = True) -> Schema:
    """A struct of plain fields, arrays, maps and structs, optional or with defaults."""
    fields = {name: draw(_parts(depth, defaults=defaults, lists_of_lists=lists_of_lists)) for name in draw(_names())}
    return struct(fields, name=draw(st.sampled_from((None, "Order", "shop.Order"))))


def _names() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)


@st.composite
def _parts(draw: st.DrawFn, depth: int, *, defaults: bool, lists_of_lists: bool) -> Schema:
    kind = draw(st.sampled_from(("plain",) * 3 + (("array", "map", "struct") if depth else ())))
    if kind == "plain":
        one = draw(st.sampled_from(list(PLAIN)))
        if defaults and draw(st.integers(0, 3)) == 0:
            one = replace(one, default=draw(PLAIN[one]))
    elif kind == "struct":
        one = draw(schemas(depth - 1, defaults=defaults, lists_of_lists=lists_of_lists))
        one = replace(one, name=None)
    else:
        # A null in an array where a default is not to be written is a null, which its own schema refuses.
        inner = draw(_parts(depth - 1, defaults=False, lists_of_lists=lists_of_lists))
        if not lists_of_lists and inner.type in (Type.ARRAY, Type.MAP):
            inner = INT64
        keys = draw(st.sampled_from((STRING, INT32, STRING.as_optional())))
        one = array(inner) if kind == "array" else map_of(keys, inner)
    return one.as_optional() if draw(st.booleans()) else one


def _part(schema: Schema | None) -> Schema:
    assert schema is not None
    return schema


def _scale(schema: Schema) -> dict[str, str]:
    return {name: text for name, text in schema.parameters.items() if name == "scale"}


EVERY = struct(
    {
        "i8": INT8,
        "i16": INT16,
        "i32": INT32,
        "i64": INT64,
        "f32": FLOAT32,
        "f64": FLOAT64,
        "yes": BOOLEAN,
        "text": STRING,
        "data": BYTES,
        "price": decimal(2),
        "day": DATE,
        "at": TIME,
        "when": TIMESTAMP,
        "tags": array(STRING),
        "counts": map_of(STRING, INT32),
        "by_number": map_of(INT32, STRING),
        "place": struct({"city": STRING, "zip": INT32.as_optional()}, name="shop.Place"),
        "maybe": STRING.as_optional(),
    },
    name="shop.Order",
)
ONE = {
    "i8": -1,
    "i16": 300,
    "i32": 70_000,
    "i64": 2**40,
    "f32": 0.5,
    "f64": 0.1,
    "yes": True,
    "text": 'ø"',
    "data": b"\0\xff",
    "price": Decimal("12.50"),
    "day": date(2026, 11, 25),
    "at": time(23, 59, 59, 999_000),
    "when": datetime(2026, 11, 25, 1, 2, 3, 456_000, UTC),
    "tags": ["a", "b"],
    "counts": {"x": 1},
    "by_number": {7: "seven"},
    "place": {"city": "Bern", "zip": None},
    "maybe": None,
}
