"""Schemas and values that Kafka Connect's JsonConverter was asked to write; see `record_json_converter.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

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
    array,
    decimal,
    map_of,
    struct,
)

TEXT = 'a"b\\c\n\t\x01é€😀/'
VALUES: tuple[tuple[Schema, tuple[Any, ...]], ...] = (
    (INT8, (-128, 0, 127)),
    (INT16, (-(2**15), 2**15 - 1)),
    (INT32, (-(2**31), 2**31 - 1)),
    (INT64, (-(2**63), 2**63 - 1)),
    (FLOAT32, (0.0, 1.5, 0.10000000149011612, 3.4028234663852886e38, -1e-10, float("nan"), float("inf"))),
    (FLOAT64, (-0.0, 1.5, 0.1, 1e7, 1.25e-4, 1e300, float("nan"), float("-inf"))),
    (BOOLEAN, (True, False)),
    (STRING, ("", TEXT, "100% {}")),
    (BYTES, (b"", b"\0\xff\x10abc")),
    (decimal(2), (Decimal("0.00"), Decimal("123.45"), Decimal("-0.01"), Decimal("99999999999999999999.99"))),
    (decimal(0), (Decimal(128), Decimal(-128))),
    (DATE, (date(1970, 1, 1), date(2026, 11, 25), date(1969, 12, 31))),
    (TIME, (time(0), time(23, 59, 59, 999_000))),
    (TIMESTAMP, (datetime(2026, 11, 25, 1, 2, 3, 456_000, UTC), datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC))),
)
NEGATIVE_SCALE = (
    decimal(-2),
    (Decimal("0E+2"), Decimal("1.2E+3"), Decimal("-1E+2"), Decimal("9999999999999999999E+2")),
)
"""Apart from the others: Avro has no such decimals."""
POINT = struct({"x": INT32, "y": FLOAT64.as_optional()}, name="Point")
WHOLE = struct([Field(f"f{at}", schema) for at, (schema, _) in enumerate(VALUES)], name="org.example.Whole")
FIRST = {f"f{at}": values[0] for at, (_, values) in enumerate(VALUES)}
LAST = {f"f{at}": values[-1] for at, (_, values) in enumerate(VALUES)}
NULLABLE = struct([Field(f"f{at}", schema.as_optional()) for at, (schema, _) in enumerate(VALUES)])
DEFAULTS = struct(
    [Field(f'd"{at}', replace(schema, default=values[-1], optional=True)) for at, (schema, values) in enumerate(VALUES)]
)
CONTAINERS: tuple[tuple[Schema, tuple[Any, ...]], ...] = (
    (array(INT32), ([], [1, 2])),
    (array(STRING.as_optional()), (["a", None],)),
    (array(POINT), ([{"x": 1, "y": None}, {"x": 2, "y": 0.5}],)),
    (array(array(decimal(1))), ([[Decimal("1.5")], []],)),
    (map_of(STRING, INT32), ({}, {"a": 1, TEXT: 2})),
    (map_of(STRING.as_optional(), INT32), ({"a": 1},)),
    (map_of(INT32, STRING), ({}, {1: "a", 2: "b"})),
    (map_of(STRING, POINT.as_optional()), ({"p": {"x": 1, "y": 2.0}, "q": None},)),
    (struct({}), ({},)),
    (POINT, ({"x": 1, "y": None}, {"x": -1, "y": 2.5})),
    (WHOLE, (FIRST, LAST)),
    (NULLABLE, (dict.fromkeys(FIRST), FIRST)),
    (DEFAULTS, (dict.fromkeys(DEFAULTS.names), dict(zip(DEFAULTS.names, FIRST.values(), strict=True)))),
    (
        struct({"inner": struct({"deep": array(map_of(STRING, TIMESTAMP))}, name="Inner").as_optional()}),
        ({"inner": None}, {"inner": {"deep": [{"t": datetime(2026, 1, 1, tzinfo=UTC)}]}}),
    ),
)
SAID: tuple[Schema, ...] = (
    replace(INT32, name="org.example.Id", version=3, doc='the "id"', parameters={"a": "1", "b": TEXT}),
    replace(STRING, doc=TEXT),
    replace(POINT, version=2, doc="where", parameters={"k": "v"}),
    replace(array(INT32), name="list", doc="some", default=[1, 2]),
    replace(map_of(STRING, INT32), default={"a": 1}),
)
PROPERTIES: tuple[dict[str, str], ...] = (
    {},
    {"schemas.enable": "false"},
    {"decimal.format": "NUMERIC"},
    {"replace.null.with.default": "false", "schemas.enable": "false"},
)


class Case(NamedTuple):
    """What is written with which properties."""

    properties: dict[str, str]
    schema: Schema
    value: Any


def cases() -> Iterator[Case]:
    """All of them, in the order of the recorded answers."""
    for properties in PROPERTIES:
        for schema, values in (*VALUES, NEGATIVE_SCALE, *CONTAINERS):
            yield from (Case(properties, schema, value) for value in values)
            yield Case(properties, schema.as_optional(), None)
        for schema, values in (*VALUES, NEGATIVE_SCALE):
            yield Case(properties, replace(schema, default=values[0]), None)
            yield Case(properties, replace(schema, default=values[0], optional=True), values[-1])
    samples = (7, "a", {"x": 1, "y": None}, [3], {"b": 2})
    yield from (Case({}, schema, value) for schema, value in zip(SAID, samples, strict=True))
