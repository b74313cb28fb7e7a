"""Schemas and values that Confluent's ProtobufData was asked to write and to read; see `record_protobuf.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from builtin.golden.json_converter_cases import CONTAINERS, VALUES, Case
from eosfw.data import DATE, INT8, INT32, INT64, STRING, TIMESTAMP, Field, Schema, Type, array, map_of, struct

PROPERTIES: tuple[dict[str, str], ...] = (
    {},
    {"optional.for.nullables": "true"},
    {"wrapper.for.nullables": "true"},
    {"ignore.default.for.nullables": "true"},
    {"scrub.invalid.names": "true"},
    {"enhanced.protobuf.schema.support": "true", "int.for.enums": "true", "generate.index.for.unions": "false"},
    {"flatten.unions": "true", "wrapper.for.raw.primitives": "false"},
)
_BUF = "io.confluent.connect.protobuf."
COLOR = Schema(
    Type.STRING,
    name="Color",
    optional=True,
    parameters={f"{_BUF}Enum": "Color", f"{_BUF}Enum.RED": "0", f"{_BUF}Enum.BLUE": "5"},
)


def tagged(schema: Schema, number: int, **parameters: str) -> Schema:
    """A schema with the number of its field."""
    given = {f"{_BUF}{name}": text for name, text in parameters.items()}
    return replace(schema, parameters={f"{_BUF}Tag": str(number), **given})


CHOICE = Schema(
    Type.STRUCT,
    name=f"{_BUF}Union.choice",
    optional=True,
    fields=(
        Field("word", tagged(STRING.as_optional(), 7)),
        Field("number", tagged(INT64.as_optional(), 9, Type="uint64")),
        Field("day", tagged(DATE.as_optional(), 11)),
    ),
)
NOW = datetime(2026, 11, 25, 1, 2, 3, 456_000, UTC)
INNER = struct({"x": INT32, "y": STRING.as_optional()}, name="shop.Inner")


def chosen(**given: Any) -> dict[str, Any]:
    """A oneof with one of its fields."""
    return {**dict.fromkeys(CHOICE.names), **given}


OWN: tuple[tuple[Schema, tuple[Any, ...]], ...] = (
    (struct({"c": COLOR}, name="shop.Order"), ({"c": "BLUE"}, {"c": None})),
    (struct({"a": INT32, "u": CHOICE}),
     ({"a": 1, "u": chosen(word="x")}, {"a": 1, "u": chosen(number=-1)}, {"a": 0, "u": None})),
    (struct({"u": CHOICE, "a": INT8.as_optional()}), ({"u": None, "a": 1}, {"u": None, "a": None})),
    (struct({"inner": INNER, "Inner": INNER.as_optional()}, name="shop.Order"),
     ({"inner": {"x": 1, "y": None}, "Inner": None}, {"inner": {"x": 0, "y": "b"}, "Inner": {"x": 2, "y": ""}})),
    (struct({"a": array(INNER), "b": map_of(STRING, INNER), "c": map_of(INT32, array(INT32))}),
     ({"a": [], "b": {}, "c": {}}, {"a": [{"x": 1, "y": "q"}], "b": {"k": {"x": 1, "y": None}}, "c": {1: [1, 2]}})),
    (struct({"m": replace(map_of(STRING, STRING.as_optional()), name="my_map")}), ({"m": {"a": "b"}},)),
    (struct({"deep": struct({"deeper": struct({"at": TIMESTAMP})})}), ({"deep": {"deeper": {"at": NOW}}},)),
    (struct({"a": tagged(INT64, 5), "b": INT64, "c": tagged(INT64.as_optional(), 7, Type="fixed32")}),
     ({"a": 1, "b": 2, "c": 3},)),
    (struct({"s": tagged(INT32, 1, Type="sint32"), "f": tagged(INT64, 2, Type="sfixed64")}), ({"s": -1, "f": -2},)),
    (struct({"id": INT32}, name="id"), ({"id": 1},)),
    (struct({"id": INT32}, name="a-b.c d"), ({"id": 1},)),
    (struct({"a-b": INT32, "_c": STRING, "0d": struct({"e f": INT32}, name="x-y")}),
     ({"a-b": 1, "_c": "x", "0d": {"e f": 2}},)),
)  # fmt: skip


def cases() -> Iterator[Case]:
    """All of them, in the order of the recorded answers."""
    for properties in PROPERTIES:
        for schema, (first, *_, last) in VALUES if properties in PROPERTIES[:4] else ():
            values = (first, last)
            for one in (schema, schema.as_optional(), replace(schema, default=values[0]), array(schema)):
                held = struct({"f": one, "after": INT32})
                for value in values:
                    yield Case(properties, held, {"f": [value, value] if one.type is Type.ARRAY else value, "after": 1})
                if one.optional or one.default is not None:
                    yield Case(properties, held, {"f": None, "after": 1})
            if schema.name is None:
                yield from (Case(properties, schema, value) for value in values)
        for schema, values in CONTAINERS:
            kinds = (Type.ARRAY, Type.MAP) if schema.type is Type.ARRAY else ()
            if schema.value_schema is None or schema.value_schema.type not in kinds:
                one = schema if schema.type is Type.STRUCT else struct({"f": schema}, name="Held")
                yield from (Case(properties, one, value if one is schema else {"f": value}) for value in values)
        yield from (Case(properties, schema, value) for schema, values in OWN for value in values)
