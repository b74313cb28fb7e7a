"""Schemas and values that Confluent's AvroData was asked to write and to read; see `record_avro.py`."""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from builtin.golden.json_converter_cases import CONTAINERS, SAID, VALUES, Case
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
    Field,
    Schema,
    Type,
    array,
    decimal,
    map_of,
    struct,
)

PROPERTIES: tuple[dict[str, str], ...] = (
    {},
    {"connect.meta.data": "false"},
    {"enhanced.avro.schema.support": "true"},
    {"generalized.sum.type.support": "true"},
    {"scrub.invalid.names": "true"},
    {"allow.optional.map.keys": "true"},
    {"ignore.default.for.nullables": "true"},
)
_AVRO = "io.confluent.connect.avro."
COLOR = replace(
    STRING,
    name="org.example.Color",
    parameters={f"{_AVRO}Enum": "org.example.Color", f"{_AVRO}Enum.RED": "RED", f"{_AVRO}Enum.BLUE": "BLUE"},
)
SHADE = replace(
    STRING,
    name="org.example.Shade",
    parameters={
        "org.apache.kafka.connect.data.Enum": "org.example.Shade",
        "org.apache.kafka.connect.data.Enum.DARK": "0",
        "org.apache.kafka.connect.data.Enum.LIGHT": "1",
    },
)
POINT = struct({"x": INT32, "y": FLOAT64.as_optional()}, name="org.example.Point")
HASH = replace(BYTES, name="org.example.Hash", parameters={"connect.fixed.size": "4"})
EITHER = struct(
    {"int": INT32.as_optional(), "string": STRING.as_optional(), "Point": POINT.as_optional()}, name=f"{_AVRO}Union"
)
FIELDS_TWICE = struct(
    [Field("a", struct({"x": INT32})), Field("b", struct({"x": INT32})), Field("c", struct({"y": INT32}).as_optional())]
)
NAMED_TWICE = struct(
    [
        Field("a", replace(POINT, parameters={"k": "v"})),
        Field("b", replace(POINT, parameters={"k": "v"})),
        Field("c", replace(POINT, parameters={"k": "v"}, optional=True)),
    ],
    name="org.example.Pair",
)
PRECISE = replace(decimal(2), parameters={"scale": "2", "connect.decimal.precision": "9"})
WRITTEN: tuple[tuple[Schema, tuple[Any, ...]], ...] = (
    *CONTAINERS,
    (COLOR, ("RED", "BLUE")),
    (struct({"c": COLOR.as_optional(), "d": COLOR}), ({"c": None, "d": "RED"}, {"c": "BLUE", "d": "RED"})),
    (struct({"s": SHADE}), ({"s": "DARK"},)),
    (EITHER, ({"int": 1}, {"string": "a"}, {"Point": {"x": 1}})),
    (EITHER.as_optional(), ({"string": "a"}, None)),
    (struct({"u": EITHER, "v": EITHER.as_optional()}), ({"u": {"Point": {"x": 2, "y": 1.5}}, "v": None},)),
    (HASH, (b"1234",)),
    (struct({"h": HASH.as_optional()}), ({"h": b"abcd"}, {"h": None})),
    (FIELDS_TWICE, ({"a": {"x": 1}, "b": {"x": 2}, "c": None}, {"a": {"x": 1}, "b": {"x": 2}, "c": {"y": 3}})),
    (NAMED_TWICE, ({"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}},)),
    (
        struct(
            {
                "a": struct({"s": INT32}, name="org.example.string"),
                "b": struct({"s": INT32}, name="org.example.string").as_optional(),
                "c": struct({"t": INT32}, name="Bare"),
                "d": array(struct({"t": INT32}, name="Bare")),
            },
            name="org.example.Names",
        ),
        ({"a": {"s": 1}, "b": {"s": 2}, "c": {"t": 3}, "d": [{"t": 4}]},),
    ),
    (PRECISE, (Decimal("1.50"),)),
    (struct({"d": PRECISE.as_optional()}), ({"d": Decimal("-0.01")}, {"d": None})),
    (replace(decimal(70), optional=True), (Decimal(1).scaleb(-70),)),
    (replace(decimal(2), parameters={"scale": "2", "connect.fixed.size": "8"}), (Decimal("1.50"), Decimal("-1.50"))),
    (replace(INT32, parameters={"avro.java.string": "String", "other": "x"}), (1,)),
    (replace(POINT, parameters={f"{_AVRO}record.doc": "a place", f"{_AVRO}field.doc.x": "east"}), ({"x": 1},)),
    (struct({"m": map_of(STRING.as_optional(), INT32)}), ({"m": {"a": 1}},)),
    (replace(map_of(INT32, STRING), name="org.example.Names"), ({1: "a", 2: "b"},)),
    (struct({"a-b": INT32, "1c": STRING, "é": INT32}, name="my-org.2nd.a b"), ({"a-b": 1, "1c": "x", "é": 2},)),
    (struct({"f": replace(FLOAT32, default=float("nan")), "g": replace(FLOAT64, default=0.1)}), ({}, {"f": 1.0})),
    (struct({"f": replace(FLOAT32, default=0.10000000149011612, optional=True)}), ({"f": None}, {"f": 0.1})),
    (
        struct(
            {
                "p": replace(POINT, default={"x": 1, "y": 2.0}, optional=True),
                "q": replace(POINT, default={"x": 3, "y": None}),
            }
        ),
        ({"p": {"x": 5}, "q": {"x": 6}},),
    ),
    (
        struct(
            {
                "m": replace(map_of(STRING, INT32), default={"a": 1}),
                "n": replace(map_of(INT32, INT32), default={1: 2}),
                "a": replace(array(DATE), default=[date(1970, 1, 3)], optional=True),
                "b": replace(BYTES, default=b"\0\xff"),
                "d": replace(decimal(1), default=Decimal("1.5")),
            }
        ),
        ({},),
    ),
    (
        struct({"i": replace(INT8, default=7, optional=True), "j": INT16, "k": INT8.as_optional()}),
        ({"j": -1}, {"i": 1, "j": 2}),
    ),
)
READ: tuple[tuple[Any, Any], ...] = (
    ({"type": "enum", "name": "org.example.Color", "symbols": ["RED", "BLUE"], "doc": "a colour"}, "RED"),
    (["null", "int"], 1),
    (["null", "int"], None),
    (["int", "string"], "a"),
    (["int"], 1),
    ({"type": "fixed", "name": "org.example.Hash", "size": 4}, b"1234"),
    ({"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}, b"\0\0\0\1"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, b"\1\0"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4}, b"\xff"),
    ({"type": "long", "logicalType": "timestamp-micros"}, 1),
    ({"type": "string", "logicalType": "uuid"}, "11111111-1111-1111-1111-111111111111"),
    ({"type": "int", "connect.type": "int8"}, 7),
    ({"type": "int", "connect.version": 3, "connect.name": "n", "connect.doc": "d", "connect.default": 5}, 7),
    ({"type": "string", "avro.java.string": "String"}, "a"),
    ({"type": "map", "values": ["null", "long"]}, {"a": 1}),
    (
        {
            "type": "record",
            "name": "R",
            "doc": "of R",
            "fields": [
                {"name": "a", "type": "int", "doc": "of a", "default": 3},
                {"name": "b", "type": ["null", "string"], "default": None},
                {"name": "c", "type": ["string", "null"], "default": "x"},
                {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"], "default": "Y"}},
                {"name": "u", "type": ["null", "int", {"type": "array", "items": "int"}, "E"]},
                {"name": "i", "type": {"type": "record", "name": "I", "fields": [{"name": "z", "type": "double"}]}},
                {"name": "j", "type": ["null", "I"]},
                {"name": "d", "type": {"type": "int", "logicalType": "date"}, "default": 2},
                {"name": "n", "type": {"type": "array", "items": "E"}, "default": ["X"]},
            ],
        },
        {
            "a": 1, "b": "t", "c": None, "e": "X", "u": ("E", "Y"), "i": {"z": 1.5}, "j": {"z": 2.5}, "d": 20_000,
            "n": ["X", "Y"],
        },
    ),
    (
        {"type": "record", "name": "a.b.U", "fields": [
            {"name": "u", "type": ["int", {"type": "record", "name": "V", "fields": [{"name": "w", "type": "int"}]}]},
        ]},
        {"u": {"w": 5}},
    ),
)  # fmt: skip


def cases() -> Iterator[Case]:
    """All of them, in the order of the recorded answers."""
    for properties in PROPERTIES:
        for schema, values in WRITTEN:
            yield from (Case(properties, schema, value) for value in values)
    for schema, values in VALUES:
        yield from (Case({}, schema, value) for value in values)
        yield Case({}, schema.as_optional(), values[-1])
        yield Case({}, struct({"f": schema.as_optional()}), {"f": None})
        yield Case({}, struct({"f": replace(schema, default=values[0])}), {"f": values[-1]})
        yield Case({}, struct({"f": replace(schema, default=values[0], optional=True)}), {"f": None})
    samples = (7, "a", {"x": 1, "y": None}, [3], {"b": 2})
    yield from (Case({}, schema, value) for schema, value in zip(SAID, samples, strict=True))
    random = Random(26)
    for _ in range(90):
        schema = record(random, 2)
        yield from (Case(random.choice(PROPERTIES), schema, value_of(random, schema)) for _ in range(2))


_PLAIN = (INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING, BYTES, DATE, TIME, TIMESTAMP, decimal(2), COLOR)


def record(random: Random, depth: int) -> Schema:
    """A schema with a few fields, each of a type with at most so many containers around it."""
    fields = [
        Field(name, _schema(random, depth)) for name in random.sample(string.ascii_lowercase, random.randint(1, 4))
    ]
    return struct(fields, random.choice((None, _name(random))))


def _name(random: Random) -> str:
    return f"org.example.{''.join(random.choices(string.ascii_uppercase, k=8))}"


def _schema(random: Random, depth: int) -> Schema:
    made = random.choice(_PLAIN)
    if depth and random.random() < 0.4:
        inner = _schema(random, depth - 1)
        # Two such maps without a name would be one type of Avro, which is refused.
        entries = replace(map_of(INT32, inner), name=_name(random))
        made = random.choice((array(inner), map_of(STRING, inner), entries, record(random, depth - 1)))
    if random.random() < 0.2:
        made = replace(made, doc="a doc")
    if made.type is not Type.STRUCT and random.random() < 0.2:
        made = replace(made, default=value_of(random, made))
    return made.as_optional() if random.random() < 0.4 else made


def value_of(random: Random, schema: Schema) -> Any:
    """A value that fits a schema."""
    if schema.optional and random.random() < 0.4:
        return None
    if schema.type is Type.STRUCT:
        return {one.name: value_of(random, one.schema) for one in schema.fields}
    if schema.type is Type.ARRAY:
        return [value_of(random, schema.value_schema) for _ in range(random.randint(0, 3))]
    if schema.type is Type.MAP:
        # Java has no order for maps whose keys are texts.
        most = 1 if schema.key_schema.type is Type.STRING else 3
        keys = {value_of(random, schema.key_schema) for _ in range(random.randint(0, most))}
        return {key: value_of(random, schema.value_schema) for key in sorted(keys)}
    return _MADE[schema.name or schema.type](random)


_MILLI = timedelta(milliseconds=1)
_MADE = {
    Type.INT8: lambda random: random.randint(-(2**7), 2**7 - 1),
    Type.INT16: lambda random: random.randint(-(2**15), 2**15 - 1),
    Type.INT32: lambda random: random.choice((-64, 63, 64, random.randint(-(2**31), 2**31 - 1))),
    Type.INT64: lambda random: random.choice((-(2**63), 2**63 - 1, random.randint(-(2**40), 2**40))),
    Type.FLOAT32: lambda random: random.randint(-1000, 1000) / 8,
    Type.FLOAT64: lambda random: random.uniform(-1e6, 1e6),
    Type.BOOLEAN: lambda random: random.random() < 0.5,
    Type.STRING: lambda random: random.choice(("", "a", "é€😀", "x" * 70)),
    Type.BYTES: lambda random: random.randbytes(random.randint(0, 3)),
    DATE.name: lambda random: date(1970, 1, 1) + timedelta(days=random.randint(-30_000, 30_000)),
    TIME.name: lambda random: time(random.randint(0, 23), 5, 6, 789_000),
    TIMESTAMP.name: lambda random: datetime(1970, 1, 1, tzinfo=UTC) + random.randint(-(10**12), 10**12) * _MILLI,
    decimal(2).name: lambda random: Decimal(random.randint(-(10**9), 10**9)).scaleb(-2),
    COLOR.name: lambda random: random.choice(("RED", "BLUE")),
}  # fmt: skip
