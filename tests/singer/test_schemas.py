"""JSON Schema becomes Connect's schemas, and values fit them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from eosfw.data import (
    BOOLEAN,
    DATE,
    FLOAT64,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    array,
    decimal,
    fitted,
    struct,
)  # fmt: skip
from eosfw.errors import DataError
from eosfw_singer.messages import SchemaMessage
from eosfw_singer.schemas import JSON, TypeSettings, value_type
from eosfw_singer.streams import stream_of

CONNECT, EXACT, TEXT = TypeSettings(times="connect"), TypeSettings("precise"), TypeSettings("string")
DEFAULT = TypeSettings()
NEW_YEAR, MAYBE_TEXT = datetime(2024, 1, 1, tzinfo=UTC), {"type": ["string", "null"]}


@pytest.mark.parametrize(
    ("schema", "settings", "expected", "value", "fits"),
    [
        ({"type": "integer"}, DEFAULT, INT64, 3.0, 3),
        ({"type": ["null", "integer"]}, DEFAULT, INT64.as_optional(), None, None),
        ({"type": "number"}, DEFAULT, FLOAT64, 3, 3.0),
        ({"type": ["integer", "number", "null"]}, DEFAULT, FLOAT64.as_optional(), 1.5, 1.5),
        ({"type": "number", "multipleOf": 0.01}, EXACT, decimal(2), Decimal("1.50"), Decimal("1.50")),
        ({"type": "number", "multipleOf": 1}, EXACT, decimal(0), 7, Decimal(7)),
        ({"type": "number", "multipleOf": 0.5}, EXACT, FLOAT64, Decimal("1.5"), 1.5),
        ({"type": "number"}, TEXT, STRING, Decimal("1E+3"), "1000"),
        ({"type": "boolean"}, DEFAULT, BOOLEAN, True, True),
        ({"type": "string", "format": "date-time"}, DEFAULT, STRING, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ({"type": "string", "format": "date-time"}, CONNECT, TIMESTAMP, "2024-01-01T01:00:00+01:00", NEW_YEAR),
        ({"type": "string", "format": "date"}, CONNECT, DATE, "2024-01-02T00:00:00Z", date(2024, 1, 2)),
        ({"type": "string", "format": "time"}, CONNECT, TIME, "01:02:03", time(1, 2, 3)),
        ({"type": "string", "format": "time"}, CONNECT, TIME, "01:02:03+02:00", time(23, 2, 3)),
        ({"type": "array", "items": {"type": "integer"}}, DEFAULT, array(INT64), [1, 2.0], [1, 2]),
        ({"type": "array"}, DEFAULT, JSON, [1, "a"], '[1,"a"]'),
        ({"type": ["string", "integer"]}, DEFAULT, JSON, "5", '"5"'),
        ({}, DEFAULT, JSON.as_optional(), {"a": [None]}, '{"a":[null]}'),
        ({"type": "object"}, DEFAULT, JSON, {"a": "ü"}, '{"a":"ü"}'),
        ({}, TEXT, JSON.as_optional(), {"ü": [Decimal(f"1.{'0' * 20}1"), None]}, f'{{"ü":[1.{"0" * 20}1,null]}}'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, DEFAULT, INT64.as_optional(), 1, 1),
        ({"anyOf": [{"type": "string", "format": "date-time"}, MAYBE_TEXT]}, DEFAULT, STRING.as_optional(), "a", "a"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, DEFAULT, JSON, 1, "1"),
        ({"$ref": "#/definitions/n", "definitions": {"n": {"type": "integer"}}}, DEFAULT, INT64, 1, 1),
        ({"$ref": "#"}, DEFAULT, JSON.as_optional(), 1, "1"),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "number"}}, "required": ["a"]},
            DEFAULT, struct({"a": INT64, "b": FLOAT64.as_optional()}), {"a": 1, "c": 2}, {"a": 1, "b": None},
        ),
    ],
)  # fmt: skip
def test_each_type_of_json_schema_has_a_schema(schema, settings, expected, value, fits):
    """SNG-07."""
    made = value_type(schema, settings)
    assert made.schema == expected
    assert fitted(made.schema, made.apply(value)) == fits


def test_a_schema_that_holds_itself_ends_as_a_text():
    """SNG-07."""
    node = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    made = value_type(node, DEFAULT)
    assert fitted(made.schema, made.apply({"next": {"next": {"next": 1}}})) == {"next": {"next": '{"next":1}'}}


@pytest.mark.parametrize("kind", ["date-time", "date", "time"])
def test_a_text_that_is_no_date_does_not_fit_its_schema(kind):
    """SNG-07: so that the framework names the field, and `errors.tolerance` counts; never with the value."""
    made = value_type({"type": "object", "properties": {"at": {"type": "string", "format": kind}}}, CONNECT)
    with pytest.raises(DataError, match="field 'at' is of type str") as refused:
        fitted(made.schema, made.apply({"at": "s3cret"}))
    assert "s3cret" not in str(refused.value)


def test_keys_and_values_are_columns_of_what_the_schema_has():
    """SNG-07: keys from `key_properties`; the topic's name has only what Kafka takes."""
    message = SchemaMessage(
        "shop/orders",
        {"properties": {"id": {"type": "integer"}, "n": {"type": "number"}}, "required": ["id"]},
        ("id",),
        (),
    )
    stream = stream_of(message, "t-", DEFAULT, None)
    rows = [{"id": 1, "n": 2, "more": 3}, {"id": 4}]

    assert stream.topic == "t-shop_orders"
    assert (stream.key_schema, list(stream.keys(rows))) == (
        struct({"id": INT64}, "shop/orders.Key"),
        [{"id": 1}, {"id": 4}],
    )
    assert list(stream.values(rows)) == [{"id": 1, "n": 2}, {"id": 4, "n": None}]
    assert stream.unknown(rows) == {"more"}


def test_rows_without_properties_are_a_text_each():
    """SNG-07: a SCHEMA that says nothing loses nothing."""
    stream = stream_of(SchemaMessage("s", {}, (), ()), "", DEFAULT, None)
    assert (stream.row.schema, list(stream.values([{"a": 1}])), stream.keys([{"a": 1}])) == (JSON, ['{"a":1}'], None)
