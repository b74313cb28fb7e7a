"""How Avro becomes typed columns."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from tests.schema_registry.http_registry import SchemaRegistry

from eosfw.errors import RetriableError
from eosfw_spark.formats.avro.format import read_schema
from eosfw_spark.formats.avro.schema import arrow_type
from eosfw_spark.formats.registry import StoredSchema
from eosfw_spark.formats.typed_columns import decode_column

NOON = datetime(2024, 1, 31, 12, 0, 0, 123456, UTC)


def record(*fields: Any, name: str = "Order", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields], **more}


def written(schema: Any, value: Any, number: int | None = None) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return (b"" if number is None else b"\0" + number.to_bytes(4, "big")) + stream.getvalue()


def decoded(schema: Any, *values: bytes | None, url: str | None = None) -> list[Any]:
    """The values, each that does not decode as its reason."""
    described = replace(read_schema(StoredSchema(json.dumps(schema))), registry={} if url is None else {"url": url})
    column, failures = decode_column(pa.array(values, pa.binary()), described.deserializer())
    return [str(failures[row]) if row in failures else value for row, value in enumerate(column.to_pylist())]


EVERY = record(
    ("boolean", "boolean"),
    ("int", "int"),
    ("optional", ["null", "long"]),
    ("number", ["int", "long"]),
    ("float", "float"),
    ("text", "string"),
    ("fixed", {"type": "fixed", "name": "Two", "size": 2}),
    ("suit", {"type": "enum", "name": "Suit", "symbols": ["A", "B"]}),
    ("again", "Suit"),
    ("list", {"type": "array", "items": ["null", "string"]}),
    ("map", {"type": "map", "values": "int"}),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("millis", {"type": "long", "logicalType": "timestamp-millis"}),
    ("micros", {"type": "long", "logicalType": "timestamp-micros"}),
    ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("time", {"type": "int", "logicalType": "time-millis"}),
    ("uuid", {"type": "string", "logicalType": "uuid"}),
    namespace="shop",
)
VALUE: dict[str, Any] = {
    "boolean": True,
    "int": 1,
    "optional": None,
    "number": 5,
    "float": 0.5,
    "text": "ø",
    "fixed": b"ab",
    "suit": "B",
    "again": "A",
    "list": ["x", None],
    "map": {"a": 1},
    "price": Decimal("2.23"),
    "day": date(2024, 1, 31),
    "millis": NOON.replace(microsecond=123000),
    "micros": NOON,
    "local": NOON.replace(tzinfo=None),
    "time": time(0, 0, 0, 5000),
    "uuid": "12345678-1234-5678-1234-567812345678",
}


def test_every_type_of_avro_is_a_column_as_in_from_avro() -> None:
    """CNV-33, CNV-37: a time stays a number."""
    plain = {
        **EVERY,
        "fields": [{**each, "type": "string"} if each["name"] == "uuid" else each for each in EVERY["fields"]],
    }

    assert decoded(EVERY, written(plain, VALUE), None) == [{**VALUE, "map": [("a", 1)], "time": 5}, None]
    assert decoded("long", written("long", 7)) == [7]


def test_a_record_is_decoded_by_its_writers_schema_and_resolved_to_the_readers(registry: SchemaRegistry) -> None:
    """CNV-34: a new field has its default, a removed one is gone, a number is wider; each schema is fetched once."""
    old = record(("id", "int"), ("gone", "string"))
    new = record(("id", "long"))
    new["fields"].append({"name": "note", "type": "string", "default": "none"})
    first, second = registry.add("t-value", old), registry.add("t-value", new)
    values = [written(old, {"id": 1, "gone": "x"}, first), written(new, {"id": 2, "note": "y"}, second)]

    assert decoded(new, *values, *values, url=registry.url) == [{"id": 1, "note": "none"}, {"id": 2, "note": "y"}] * 2
    assert sorted(registry.requests) == ["GET /schemas/ids/1", "GET /schemas/ids/2"]


def test_what_does_not_decode_has_a_reason_without_its_bytes(registry: SchemaRegistry) -> None:
    """CNV-36."""
    schema, other = record(("id", "long"), ("note", "string")), record(("id", "string"))
    number, foreign = registry.add("t-value", schema), registry.add("u-value", other)
    json_number = registry.add("j-value", {"type": "object"}, "JSON")
    good = written(schema, {"id": 1, "note": "secret"}, number)
    values = [good[:-1], good + b"s", b"secret", good[5:], written(other, {"id": "secret"}, foreign)]
    values += [b"\0\0\0\0\x63secret", b"\0" + json_number.to_bytes(4, "big")]

    assert decoded(schema, good, *values, url=registry.url) == [
        {"id": 1, "note": "secret"},
        "it does not fit its Avro schema",
        "it goes on behind the end of its Avro schema",
        "it does not begin with the id of a schema of a registry",
        "it does not begin with the id of a schema of a registry",
        "it does not fit its Avro schema",
        f"its schema, 99, is not in the schema registry at {registry.url}",
        f"its schema, {json_number}, is JSON, not AVRO",
    ]
    assert decoded(schema, *[b"\0\0\0\0\x62"] * 3, url=registry.url)[2].startswith("its schema, 98, is not in")
    assert registry.requests.count("GET /schemas/ids/98") == 1
    assert decoded(schema, b"\2\4a")[0] == "it does not fit its Avro schema"


def test_a_registry_that_does_not_answer_is_no_fault_of_the_record(registry: SchemaRegistry) -> None:
    """CNV-36: no mode takes the record for one that does not decode; Spark tries the task again."""
    schema = record(("id", "long"))
    registry.failures = [503] * 2

    with pytest.raises(
        RetriableError, match=f"the schema registry at {registry.url} answers with status 503; try again"
    ):
        decoded(schema, written(schema, {"id": 1}, 1), url=registry.url)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{", "is no JSON"),
        ('{"type": "lang"}', "is no Avro schema"),
        (json.dumps(record(("a", ["int", "string"]))), "has a union of several types"),
        (json.dumps(record(("next", ["null", "Order"]))), "has the record Order within itself"),
        (
            json.dumps({**EVERY, "fields": [{"name": "x", "type": record(("n", ["null", "shop.Order"]), name="In")}]}),
            "shop.Order within itself",
        ),
        (json.dumps({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 40}), "Spark has 38 digits"),
    ],
)
def test_a_schema_without_columns_is_named(schema: str, message: str) -> None:
    """CNV-38."""
    with pytest.raises(ValueError, match=r"^(is|has) ") as refused:
        read_schema(StoredSchema(schema))

    assert message in str(refused.value)


def test_a_schema_may_refer_to_others() -> None:
    """CNV-33."""
    place = record(("city", "string"), name="Place", namespace="shop")
    stored = StoredSchema(json.dumps(record(("at", "shop.Place"))), references=(("shop.Place", json.dumps(place)),))
    described = read_schema(stored)

    assert described.type == arrow_type(record(("at", place)))
    data = written(record(("at", place)), {"at": {"city": "Bern"}})
    assert described.deserializer().deserialize(data) == {"at": {"city": "Bern"}}
