"""Avro is written with schemas of a registry: those of records, or for records that have none that of properties."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from tests.runtime.scripted_task import run, scripted

from eosfw.data import (
    INT64,
    STRING,
    TIMESTAMP,
    ArrowValues,
    array,
    arrow_schema_of,
    decimal,
    fitted,
    fitted_values,
    struct,
)
from eosfw.errors import ConfigError, DataError
from eosfw.records import SourceBatch
from eosfw_schema_registry.avro.converter import AvroConverter

from .http_registry import SchemaRegistry

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}


@pytest.fixture
def made(configured: Callable[..., Any], registry: SchemaRegistry) -> Callable[..., AvroConverter]:
    """Makes converters with the properties given."""
    return lambda **properties: configured(AvroConverter(), registry.url, **properties)


def read(written: bytes, schema: Any = SCHEMA) -> tuple[int, Any]:
    """The id of the schema and the value in Confluent's wire format."""
    assert written[0] == 0
    return int.from_bytes(written[1:5]), fastavro.schemaless_reader(io.BytesIO(written[5:]), schema, None)


def test_a_value_is_written_with_the_id_of_its_schema(made, registry):
    """CNV-18: the schema is registered once, under the subject of the topic's values."""
    converter = made(schema=json.dumps(SCHEMA))

    assert read(converter.from_connect_data("orders", None, {"id": 7, "note": "ø"})) == (1, {"id": 7, "note": "ø"})
    assert read(converter.from_connect_data("orders", None, {"id": 8})) == (1, {"id": 8, "note": None})
    assert list(registry.subjects) == ["orders-value"]
    assert len([one for one in registry.requests if one.startswith("POST")]) == 1
    assert converter.from_connect_data("orders", None, None) is None


def test_the_schema_may_be_in_a_file_or_the_latest_of_the_registry(made, registry, tmp_path):
    """CNV-18."""
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(SCHEMA), encoding="utf-8")
    registry.answer("POST", "/subjects/orders-value/versions", {"schema": json.dumps(SCHEMA)})

    for given in ({"schema_file": str(file)}, {"use_latest_version": "true"}):
        assert read(made(**given).from_connect_data("orders", None, {"id": 7})) == (1, {"id": 7, "note": None})


def test_a_password_goes_to_the_registry(made, registry):
    credentials = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "user:word"}
    made(schema='"long"', converter_type="key", **credentials).from_connect_data("orders", None, 7)

    assert list(registry.subjects) == ["orders-key"]
    assert registry.authorization == "Basic dXNlcjp3b3Jk"


@pytest.mark.parametrize(
    ("properties", "value", "message"),
    [
        ({}, {"id": "seven"}, r"^field 'Order.id' is of type str; its Avro schema wants long$"),
        (
            {"auto_register_schemas": "false"},
            {"id": 7},
            r"has no such schema in subject orders-value, .*: Schema not found",
        ),
    ],
)
def test_what_another_try_would_not_mend_is_an_error_of_the_record(made, properties, value, message):
    """CNV-17."""
    converter = made(schema=json.dumps(SCHEMA), **properties)
    with pytest.raises(ValueError, match=message):
        converter.from_connect_data("orders", None, value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int", 1.5), ("int", 2**40), ("int", True), ("double", True), ("boolean", "false"), ("boolean", 2)],
)
def test_a_value_without_a_schema_never_becomes_another_one(made, kind, value):
    """CNV-17: the library would write 1 for 1.5, true for any text, and ints that no reader in Java takes."""
    fields = [{"name": "id", "type": kind}]
    converter = made(schema=json.dumps({"type": "record", "name": "Order", "fields": fields}))
    with pytest.raises(DataError, match=rf"^field 'Order.id' is of type \w+; its Avro schema wants {kind}$"):
        converter.from_connect_data("orders", None, {"id": value})


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "left", "type": ["null", "Tree"], "default": None},
        {"name": "fruits", "type": {"type": "array", "items": ["null", {**SCHEMA, "name": "Fruit"}]}, "default": []},
        {
            "name": "leaf",
            "type": [
                "null",
                {"type": "record", "name": "Green", "fields": [{"name": "size", "type": "int"}]},
                {"type": "record", "name": "Dry", "fields": [{"name": "age", "type": "int"}]},
            ],
            "default": None,
        },
        {"name": "notes", "type": ["null", SCHEMA, {"type": "map", "values": "long"}], "default": None},
    ],
}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"right": {}}, "it has a member 'right', and Tree of its Avro schema no such field"),
        ({"left": {"left": {"height": 1}}}, "it has a member 'height', and Tree"),
        ({"fruits": [None, {"id": 1, "Note": "n"}]}, "it has a member 'Note', and Fruit"),
        ({"leaf": {"age": 1, "size": 2}}, "it does not fit the Avro schema"),
    ],
)
def test_a_member_that_the_schema_does_not_name_is_refused(made, value, message):
    """CNV-17: the library would leave it out without a word."""
    converter = made(schema=json.dumps(TREE))
    full = {"left": {}, "fruits": [{"id": 1}], "leaf": {"age": 1}, "notes": {"id": 1, "of": 2}}
    converter.from_connect_data("orders", None, full)

    with pytest.raises(DataError, match=message):
        converter.from_connect_data("orders", None, value)


NODE = {
    "type": "record",
    "name": "Node",
    "fields": [
        {"name": "counts", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
        {"name": "below", "type": {"type": "array", "items": "Node"}},
    ],
}


def test_parts_of_a_value_without_a_schema_never_become_others(made):
    """CNV-17: in arrays, maps and types that hold themselves."""
    converter = made(schema=json.dumps(NODE))
    day = date(2026, 1, 2)
    value = {"counts": {"a": [1, -(2**31)]}, "day": day, "below": [{"counts": {}, "below": []}]}
    wanted = value | {"below": [{"counts": {}, "day": date(1970, 1, 1), "below": []}]}
    assert read(converter.from_connect_data("orders", None, value), NODE) == (1, wanted)

    for wrong in (value | {"counts": {"a": [1.5]}}, value | {"below": [{"counts": {"a": [2**31]}, "below": []}]}):
        with pytest.raises(DataError):
            converter.from_connect_data("orders", None, wrong)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"schema": '"long"', "use_latest_version": "true"}, "Avro takes only one of"),
        ({"schema": "{"}, "the Avro schema is not JSON"),
        ({"schema": '{"type": "lang"}'}, "the property schema or schema.file: it is no Avro schema"),
        ({"schema_file": "/no/such/file"}, "schema.file cannot be read"),
        ({"schema": '"long"', "schema_registry_url": "ftp://x"}, "Invalid url ftp://x"),
        ({"schema": '"long"', "converter_type": "header"}, "header.converter cannot be avro"),
        ({"schema": '"long"', "schema_registry_uri": "x"}, "did you mean 'value.converter.schema.registry.url'?"),
    ],
)
def test_wrong_properties_are_refused_before_anything_starts(made, properties, message):
    with pytest.raises(ConfigError) as refused:
        made(**properties)

    assert message in str(refused.value)


def test_missing_packages_are_named_with_the_extra(made, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fastavro", None)

    with pytest.raises(ConfigError, match=r"pip install 'eosfw-schema-registry\[avro\]'"):
        made(schema='"long"')


ORDER = struct(
    {"id": INT64, "price": decimal(2).as_optional(), "tags": array(STRING), "seen": TIMESTAMP}, name="org.example.Order"
)
FIRST = {"id": 7, "price": Decimal("1.50"), "tags": ["a", "b"], "seen": datetime(2026, 11, 25, 1, 2, 3, 4000, UTC)}


def registered(registry: SchemaRegistry, number: int) -> Any:
    return fastavro.parse_schema(json.loads(registry.schemas[number - 1]))


def test_a_record_is_written_by_the_latest_schema_of_its_subject(made, registry):
    """CNV-18: fields that it has not get its defaults, and it registers nothing."""
    field = {"name": "state", "type": "string", "default": "new"}
    latest = {"type": "record", "name": "org.example.Order", "fields": [field, {"name": "id", "type": "double"}]}
    registry.add("orders-value", latest)
    converter = made(use_latest_version="true")

    written = converter.from_connect_data("orders", ORDER, fitted(ORDER, FIRST))

    assert read(written, latest) == (1, {"state": "new", "id": 7.0})
    assert len(registry.schemas) == 1


def test_a_latest_schema_that_asks_for_more_is_named(made, registry):
    """CNV-18: nothing is written that it does not allow."""
    field = {"name": "state", "type": "string"}
    registry.add("orders-value", {"type": "record", "name": "org.example.Order", "fields": [field]})

    with pytest.raises(DataError, match="its schema cannot be resolved to the registry's latest one"):
        made(use_latest_version="true").from_connect_data("orders", ORDER, fitted(ORDER, FIRST))


def test_a_record_without_any_schema_is_refused(made):
    """CNV-18."""
    with pytest.raises(DataError, match=r"the record has no schema: say schema, schema.file or use.latest"):
        made().from_connect_data("orders", None, {"id": 7})


def test_only_so_many_schemas_are_kept(made, registry):
    """CNV-16: another one is asked for again, of the registry's client, not of the registry."""
    converter = made(schemas_cache_config="1")
    for schema, value in [(INT64, 1), (STRING, "a"), (INT64, 2)]:
        converter.from_connect_data("orders", schema, value)

    assert len(converter._writers) == 1
    assert len(registry.requests) == 2


@pytest.mark.parametrize("schema", [ORDER, ORDER.as_optional()])
@pytest.mark.parametrize("times", [1, 50])
def test_columns_are_written_as_each_record_by_itself(made, registry, schema, times):
    """CNV-12: of a batch, small or large, from the registry's schema to the last byte."""
    converter = made()
    rows = [fitted(schema, FIRST), fitted(schema, FIRST | {"price": None, "tags": []})] * times

    columns = converter.from_connect_columns("orders", schema, fitted_values(schema, rows))

    assert columns == [converter.from_connect_data("orders", schema, one) for one in rows]
    assert [read(one, registered(registry, 1))[1] for one in columns] == rows
    assert converter.from_connect_columns("orders", schema, fitted_values(schema, rows)[:0]) == []


def test_what_are_no_columns_is_written_one_by_one(made, registry):
    """CNV-12: single values, nulls, records that a property has the schema of."""
    schema, given = INT64.as_optional(), made(schema=json.dumps(SCHEMA))

    assert made().from_connect_columns("numbers", schema, [7, None])[1] is None
    assert read(given.from_connect_columns("orders", None, [{"id": 7}])[0])[1] == {"id": 7, "note": None}


@pytest.mark.parametrize("times", [1, 50])
@pytest.mark.parametrize("schema", [INT64, INT64.as_optional(), array(STRING).as_optional(), ORDER.as_optional()])
def test_arrays_of_pyarrow_are_written_as_each_value_by_itself(made, schema, times):
    """CNV-12: of values that are no structs, or of structs and nulls; a null is null."""
    converter = made()
    one = {INT64: 7, INT64.as_optional(): 7, ORDER.as_optional(): fitted(ORDER, FIRST)}.get(schema, ["a", None][:1])
    rows = [one, None if schema.optional else one] * times
    kind = arrow_schema_of(struct({"": schema})).field(0).type

    columns = converter.from_connect_columns("orders", schema, ArrowValues(pa.array(rows, kind)))

    assert columns == [converter.from_connect_data("orders", schema, each) for each in rows]


def test_columns_are_written_without_pyarrow(made, monkeypatch):
    """CNV-12: more slowly."""
    monkeypatch.setattr("eosfw_schema_registry.avro.converter._MANY", 1)
    wanted = made().from_connect_columns("orders", ORDER, fitted_values(ORDER, [FIRST]))
    monkeypatch.setattr("eosfw_schema_registry.avro.converter._libraries", lambda: False)
    monkeypatch.setitem(__import__("sys").modules, "eosfw_schema_registry.avro.columns", None)

    assert made().from_connect_columns("orders", ORDER, fitted_values(ORDER, [FIRST])) == wanted


def test_columns_of_a_poll_stay_columns_until_they_are_bytes(registry, monkeypatch):
    """CNV-12: through a transformation; no value is written by itself."""
    monkeypatch.setattr("eosfw_schema_registry.avro.converter.value_encoder", lambda *_: None)
    monkeypatch.setattr("eosfw_schema_registry.avro.converter._MANY", 1)
    batch = SourceBatch("orders", pa.record_batch({"id": [7, 8], "note": ["a", None]}), {"p": "a"}, {"o": 2})
    transforms = {
        "transforms": "from",
        "transforms.from.type": "InsertField$Value",
        "transforms.from.static.field": "source",
        "transforms.from.static.value": "here",
    }
    stage = run(
        scripted(batch),
        value_converter="avro",
        value_converter_schema_registry_url=registry.url,
        **{name.replace(".", "_"): text for name, text in transforms.items()},
    )

    assert [read(one, registered(registry, 1))[1] for one in stage.cluster.committed("orders")] == [
        {"id": 7, "note": "a", "source": "here"},
        {"id": 8, "note": None, "source": "here"},
    ]
