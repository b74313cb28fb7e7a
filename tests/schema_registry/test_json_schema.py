"""JSON Schemas of schemas of Kafka Connect, values by them, and both read back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import EFFORTS

from eosfw.builtin.converters import encoded_columns, encoder_of
from eosfw.data import (
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    STRING,
    Schema,
    StructColumns,
    Type,
    array,
    arrow_schema_of,
    decimal,
    map_of,
    struct,
)
from eosfw.errors import DataError
from eosfw_schema_registry.json_schema.connect_schema import connect_schema
from eosfw_schema_registry.json_schema.encoders import json_form
from eosfw_schema_registry.json_schema.schema_text import JsonSchemaRules, json_schema_text
from eosfw_schema_registry.json_schema.values import connect_value, parse_json

from .connect_schemas import schemas, values

FORM = json_form(numeric_decimals=False, ignore_default=False)
NUMERIC = json_form(numeric_decimals=True, ignore_default=False)
NO_DEFAULTS = json_form(numeric_decimals=False, ignore_default=True)
RULES = JsonSchemaRules(FORM)
NULL = {"type": "null"}
INT = {"type": "integer", "connect.type": "int32"}
COLOR = Schema(
    Type.STRING,
    parameters={f"io.confluent.connect.json.Enum{name}": name.strip(".") for name in ("", ".red", ".<NULL>")},
)
ONE_OF = "io.confluent.connect.json.OneOf"
UNION = struct({f"{ONE_OF}.field.0": INT32.as_optional(), f"{ONE_OF}.field.1": STRING.as_optional()}, name=ONE_OF)
LOGICAL = "org.apache.kafka.connect.data"


@pytest.mark.parametrize("form", [FORM, NO_DEFAULTS])
def test_columns_of_many_values_keep_these_rules(form: Any) -> None:
    """CNV-25: where pyarrow writes the columns beside them; as lists and as its own arrays."""
    given_default = struct({"a": replace(INT32, default=3)})
    schema = struct(
        {
            "entries": map_of(INT32, INT32),
            "struct": given_default.as_optional(),
            "structs": array(given_default),
            "union": UNION.as_optional(),
            "keys": map_of(STRING.as_optional(), INT32),
            "plain": map_of(STRING, INT32),
        }
    )
    chosen = {f"{ONE_OF}.field.0": 1, f"{ONE_OF}.field.1": None}
    one = {
        "entries": {1: 2}, "struct": {"a": None}, "structs": [{"a": None}, {"a": 1}], "union": chosen,
        "keys": {"k": 1}, "plain": {"k": 1},
    }  # fmt: skip
    rows = [one, {**one, "struct": None, "union": None}] * 100
    lists = StructColumns({name: [row[name] for row in rows] for name in schema.names}, len(rows))
    as_pairs = [
        {**row, **{name: list(row[name].items()) for name in ("entries", "keys", "plain")}} for row in rows
    ]  # fmt: skip
    arrow = StructColumns.of_arrow(pa.RecordBatch.from_pylist(as_pairs, arrow_schema_of(schema)))

    wanted = [encoder_of(form, schema)(row).encode() for row in rows]

    assert encoded_columns(form, schema, lists) == wanted
    assert encoded_columns(form, schema, arrow) == wanted


@EFFORTS
def test_what_is_written_is_valid_by_what_is_registered_and_reads_as_what_was_given(effort: int) -> None:
    """CNV-20, CNV-21, CNV-22: an implementation of JSON Schema by others says so, for schemas at random."""
    from jsonschema import Draft7Validator

    @settings(max_examples=60 * effort)
    @given(st.data(), st.sampled_from((FORM, NUMERIC, NO_DEFAULTS)), st.sampled_from((True, False)))
    def check(data: st.DataObject, form: Any, additional_properties: Any) -> None:
        schema = data.draw(schemas())
        rows = data.draw(st.lists(values(schema), min_size=1, max_size=3))
        text = json_schema_text(JsonSchemaRules(form, additional_properties), schema)
        columns = StructColumns({name: [one[name] for one in rows] for name in schema.names}, len(rows))
        written = encoded_columns(form, schema, columns)

        Draft7Validator.check_schema(json.loads(text))
        validator = Draft7Validator(json.loads(text))
        for one in written:
            assert one is not None
            validator.validate(_finite(json.loads(one)))

        assert written == [encoder_of(form, schema)(one).encode() for one in rows]
        assert connect_schema(text, optional_unless_required=False) == schema
        read = [connect_value(schema, parse_json(one)) for one in written if one is not None]
        assert read == [with_defaults(form, schema, one) for one in rows]

    check()


@pytest.mark.parametrize("kind", [FLOAT32, FLOAT64])
@pytest.mark.parametrize("digits", [f"1{'0' * 400}", "1e400"])
def test_a_number_beyond_all_floating_point_numbers_is_infinite(kind: Schema, digits: str) -> None:
    """CNV-22: as in Java, however it is written."""
    assert connect_value(kind, parse_json(f"-{digits}".encode())) == -float("inf")


def _finite(value: Any) -> Any:
    """What is infinite is a text in JSON, and no number for a validator."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return 0.5 if value in ("Infinity", "-Infinity") else value


def with_defaults(form: Any, schema: Schema, value: Any) -> Any:
    """What a reader has: the default in the place of a null, since JSON does not tell one from the other."""
    if value is None:
        return schema.default
    if schema.type is Type.STRUCT:
        return {one.name: with_defaults(form, one.schema, value[one.name]) for one in schema.fields}
    part = schema.value_schema
    if schema.type is Type.ARRAY:
        assert part is not None
        return [with_defaults(form, part, one) for one in value]
    if schema.type is Type.MAP:
        assert part is not None
        return {key: with_defaults(form, part, one) for key, one in value.items()}
    return value


@pytest.mark.parametrize(
    ("given_schema", "wanted"),
    [
        ({"type": "string", "enum": ["red", None]}, COLOR),
        ({"oneOf": [INT, {"type": "string"}]}, UNION),
        ({"properties": {"b": {"type": "string"}, "a": INT}}, struct({"b": STRING, "a": INT32})),
        (
            {"properties": {"b": {"type": "string", "connect.index": 1}, "a": {**INT, "connect.index": 0}}},
            struct({"a": INT32, "b": STRING}),
        ),
        (
            {"definitions": {"x~/y": INT}, "properties": {"a": {"$ref": "#/definitions/x~0~1y"}}},
            struct({"a": INT32}),
        ),
        ({"$ref": "other.json#/definitions/name"}, STRING),
    ],
)  # fmt: skip
def test_schemas_of_others_read_by_the_rules_of_json_schema_data(given_schema: Any, wanted: Schema) -> None:
    """CNV-22: shorter forms of nulls, unions, enumerations and references."""
    other = json.dumps({"definitions": {"name": {"type": "string"}}})

    assert connect_schema(json.dumps(given_schema), {"other.json": other}, optional_unless_required=False) == wanted


@pytest.mark.parametrize(
    ("given_schema", "why"),
    [
        ({}, "no type of Kafka Connect"),
        ({"type": "array"}, "Array schema did not specify the items type"),
        ({"$ref": "#/definitions/x"}, "which is missing"),
        ({"properties": {"a": {"$ref": "#"}}}, "refers to itself"),
        ({"type": "integer", "connect.type": "int7"}, "Unsupported type int7"),
    ],
)
def test_schemas_without_a_schema_of_connect_are_refused(given_schema: Any, why: str) -> None:
    """CNV-22: by what is wrong with them."""
    with pytest.raises(DataError, match=why):
        connect_schema(json.dumps(given_schema), optional_unless_required=False)


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        (struct({"a": array(INT32)}), {"a": [1, "secret"]}, r"field 'a\.1' is a JSON string, .* wants INT32"),
        (struct({"a": INT8}), {"a": 300}, "beyond the 8 bits"),
        (struct({"a": INT32}), {"a": None}, "field 'a' is null"),
        (DATE, 2**31 - 1, "years 1 to 9999"),
        (BYTES, "?secret", "no Base64"),
        (UNION, {"secret": 1}, "none of its union"),
        (map_of(INT32, STRING), [{"key": 1}], "wants MAP"),
        (decimal(0), "AJw", "no Base64"),
    ],
)
def test_json_that_does_not_fit_its_schema_is_refused_without_its_value(schema: Schema, value: Any, why: str) -> None:
    """CNV-22: with the path of the field, what it is and what it should be."""
    with pytest.raises(DataError, match=why) as refused:
        connect_value(schema, value)
    assert "secret" not in str(refused.value)


def test_dates_of_unions_and_structs_are_kept_apart() -> None:
    """CNV-22: a plain value by its type, an object by the members that it shares with a struct."""
    first, second = struct({"a": INT8, "b": STRING}).as_optional(), struct({"c": INT8, "d": STRING}).as_optional()
    schema = struct({f"{ONE_OF}.field.0": first, f"{ONE_OF}.field.1": second}, name=ONE_OF)

    assert connect_value(schema, {"c": 1, "d": "x"})[f"{ONE_OF}.field.1"] == {"c": 1, "d": "x"}
    assert connect_value(DATE, 0) == date(1970, 1, 1)
