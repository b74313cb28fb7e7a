"""Values and records of every kind, for parts that change or convert them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

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
    ArrowValues,
    Schema,
    SchemaAndValue,
    StructColumns,
    Type,
    Utf8Strings,
    array,
    arrow_schema_of,
    decimal,
    map_of,
    struct,
)
from eosfw.records import SourceRecord

Sample = tuple[Schema | None, Sequence[Any]]
"""A schema, or None, and values that fit it in the form that `eosfw.data.fitted` gives."""

PLACE = struct({"city": STRING, "since": TIMESTAMP.as_optional()}, name="Place")
ORDER = struct(
    {
        "id": INT64,
        "name": STRING,
        "price": decimal(2).as_optional(),
        "count": replace(INT32, default=3),
        "note": replace(STRING, default="none", optional=True),
        "day": DATE.as_optional(),
        "tags": array(STRING),
        "place": PLACE.as_optional(),
    },
    name="Order",
)
_MOMENT = datetime(1987, 6, 5, 9, 8, 7, 654_000, UTC)
ORDERS: Sequence[Mapping[str, Any]] = (
    {
        "id": 9_876_543_210,
        "name": "canary-é€😀",
        "price": Decimal("98765.43"),
        "count": 70_707,
        "note": "canary-note",
        "day": date(1987, 6, 5),
        "tags": ["canary-tag", ""],
        "place": {"city": "canary-city", "since": _MOMENT},
    },
    {
        "id": -1,
        "name": "",
        "price": None,
        "count": 0,
        "note": None,
        "day": None,
        "tags": [],
        "place": None,
    },
)
VALUES: Sequence[Sample] = (
    (INT8, (-101, 27)),
    (INT16, (-30_303, 12_121)),
    (INT32, (-1_234_567, 2**31 - 1)),
    (INT64, (9_876_543_210, -(2**63))),
    (FLOAT32, (1234.5, -0.0078125)),
    (FLOAT64, (98765.4321, -1e-9)),
    (BOOLEAN, (True, False)),
    (STRING, ("canary-é€😀", "")),
    (BYTES, (b"canary\0\xff", b"")),
    (decimal(2), (Decimal("98765.43"), Decimal("-0.01"))),
    (DATE, (date(1987, 6, 5), date(1969, 12, 31))),
    (TIME, (time(9, 8, 7, 654_000), time(0))),
    (TIMESTAMP, (_MOMENT, datetime(1970, 1, 1, tzinfo=UTC))),
    (array(INT64), ([9_876_543_210, 1], [])),
    (map_of(STRING, FLOAT64), ({"canary-key": 98765.4321}, {})),
    (map_of(INT32, STRING), ({77_777: "canary"}, {})),
    (PLACE, ({"city": "canary-city", "since": _MOMENT}, {"city": "", "since": None})),
    (ORDER, ORDERS),
    (None, ("canary", "")),
    (None, (b"canary", b"")),
    (None, (9_876_543_210, 0)),
    (None, (98765.4321, 0.0)),
    (None, (True, False)),
    (None, ({"id": 9_876_543_210, "name": "canary"}, {"id": 1, "name": None})),
    (None, ({"id": 1, "place": {"city": "canary-city"}, "tags": ["canary-tag"]}, {})),
    (None, (["canary", 9_876_543_210, None], [])),
)
"""Values with texts and numbers that occur in no message but by being shown."""


def forms(schema: Schema | None, values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The ways in which a batch holds values: a list, strings as UTF-8, columns of lists, columns of pyarrow."""
    yield list(values)
    if schema is None:
        return
    if schema.type is Type.STRING and None not in values:
        yield Utf8Strings([one.encode() for one in values])
    if schema.type is not Type.STRUCT:
        yield from (ArrowValues(one) for one in _arrays({"value": schema}, {"value": list(values)}).values())
    elif None not in values:
        columns = {name: [one[name] for one in values] for name in schema.names}
        yield StructColumns(columns, len(values))
        arrays = _arrays({one.name: one.schema for one in schema.fields}, columns)
        if arrays:
            yield StructColumns(arrays, len(values))


def _arrays(schemas: Mapping[str, Schema], columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Columns as arrays of pyarrow; none without pyarrow."""
    if find_spec("pyarrow") is None:
        return {}
    import pyarrow as pa

    return {one.name: pa.array(columns[one.name], one.type) for one in arrow_schema_of(struct(schemas))}


def _records(values: Sequence[Any], key: Any = None, **more: Any) -> Iterator[SourceRecord]:
    for at, value in enumerate(values):
        yield SourceRecord("orders", value, key, {"shelf": "7"}, {"at": at + 1}, **more)


def _all_records() -> Iterator[SourceRecord]:
    plain = {"id": 9_876_543_210, "name": "canary", "count": 70_707, "place": {"city": "canary-city"}}
    headers = (("site", b"canary-site"), ("site", None), ("level", SchemaAndValue(INT32, 98_765)))
    yield from _records(ORDERS, value_schema=ORDER)
    yield from _records(ORDERS, ORDERS[0], value_schema=ORDER, key_schema=ORDER, timestamp=1_234_567_890_123)
    yield from _records([plain, {**plain, "id": 2}], plain, headers=headers)
    yield from _records([None, None], b"canary-key", headers=headers, partition=3)
    yield from _records([None, ORDERS[0]], value_schema=ORDER.as_optional())
    yield from _records([b"canary", b""])
    yield from _records(["canary", "98765", ""], "canary-key", value_schema=STRING, key_schema=STRING)
    yield from _records([9_876_543_210, 1], 5, value_schema=INT64, key_schema=INT64, timestamp=0)
    yield from _records([_MOMENT, _MOMENT], value_schema=TIMESTAMP)


RECORDS: Sequence[SourceRecord] = tuple(_all_records())
"""Records with schemas and without, with headers, tombstones, keys of every kind."""


def leaves(schema: Schema | None, value: Any) -> Iterator[str]:
    """The texts by which a message could show a value; those of a few letters may be in any message."""
    if isinstance(value, Mapping):
        yield from _leaves_of_mapping(schema, value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves(None if schema is None else schema.value_schema, one)
    elif isinstance(value, (bytes, bytearray)):
        yield repr(bytes(value))[2:-1]
    elif isinstance(value, (datetime, date, time)):
        yield from (value.isoformat(), repr(value))
    elif isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        yield str(abs(value))
    elif isinstance(value, str):
        yield value


def _leaves_of_mapping(schema: Schema | None, value: Mapping[Any, Any]) -> Iterator[str]:
    if schema is not None and schema.type is Type.MAP:
        for key, one in value.items():
            yield from leaves(schema.key_schema, key)
            yield from leaves(schema.value_schema, one)
        return
    for name, one in value.items():
        yield from leaves(None if schema is None else schema.field(name), one)
