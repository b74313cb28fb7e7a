"""Schemas and values of Connect are Avro as Confluent's AvroData has them, by its own answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eosfw.data import DATE, INT8, INT32, INT64, STRING, TIMESTAMP, Schema, decimal, fitted, map_of, struct
from eosfw.errors import DataError
from eosfw_schema_registry.avro.form import AVRO_DATA, AvroForm
from eosfw_schema_registry.avro.names import scrubbed
from eosfw_schema_registry.avro.schema_text import record_name, schema_text
from eosfw_schema_registry.avro.schemas import avro_schema
from eosfw_schema_registry.avro.values import value_encoder
from schema_registry.golden.avro_cases import COLOR, HASH, Case, cases

GOLDEN = Path(__file__).parent / "golden"


def answers(name: str) -> list[Any]:
    return [json.loads(line) for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines()]


def form(properties: Mapping[str, str]) -> AvroForm:
    return AvroForm.of(AVRO_DATA.parse(properties))


def written(schema: Schema, value: Any, properties: Mapping[str, str] | None = None) -> bytes:
    return value_encoder(form(properties or {}), schema)(fitted(schema, value))


def test_schemas_and_values_are_those_of_confluents_avro_data() -> None:
    """CNV-10, CNV-11: all types, logical types, names, defaults, unions, with each property; each key in its place."""
    pairs = zip(cases(), answers("avro_written.jsonl"), strict=True)
    wrong = [(case, wanted) for case, wanted in pairs if not _agree(case, wanted)]
    assert wrong == []


def _agree(case: Case, wanted: Mapping[str, Any]) -> bool:
    try:
        made = _made(case)
    except DataError:
        return "error" in wanted
    if "error" in wanted:
        return False
    return made == (_in_order(wanted["schema"]), None if case.value is None else base64.b64decode(wanted["bytes"]))


def _made(case: Case) -> tuple[str, bytes | None]:
    properties = form(case.properties)
    text = schema_text(avro_schema(properties, case.schema))
    value = fitted(case.schema, case.value)
    return _in_order(json.loads(text)), None if value is None else value_encoder(properties, case.schema)(value)


def _in_order(schema: Any) -> str:
    return json.dumps(schema)


def test_two_types_of_one_name_are_refused() -> None:
    """CNV-10: Java writes the second one as the name of the first, so nobody could read its values."""
    schema = struct({"a": map_of(INT32, STRING), "b": map_of(INT32, INT64)})
    with pytest.raises(DataError, match=r"two parts .* with the name MapEntry, .*: give the schemas .* a name"):
        schema_text(avro_schema(form({}), schema))

    named = struct({"a": map_of(INT32, STRING), "b": replace(map_of(INT32, INT64), name="org.example.Totals")})
    assert '"name":"Totals","namespace":"org.example"' in schema_text(avro_schema(form({}), named))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (map_of(INT32, decimal(2)), map_of(INT32, decimal(4))),
        (map_of(INT32, INT8), map_of(INT32, INT32)),
        (map_of(INT32, STRING), map_of(DATE, STRING)),
        (struct({"at": INT64}, "N"), struct({"at": TIMESTAMP}, "N")),
    ],
)
def test_two_types_of_one_name_whose_bytes_mean_something_else_are_refused(first: Schema, second: Schema) -> None:
    """CNV-10: the values of the second one would be read as those of the first, such as 1.0000 as 100.00."""
    with pytest.raises(DataError, match=r"two parts of the schema are types of Avro with the name \w+, and differ"):
        schema_text(avro_schema(form({}), struct({"a": first, "b": second})))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("a_1", "a_1"), ("a-b", "a_b"), ("1c", "x1c"), ("a b", "a_b"), ("é", "_C3_A9"), ("a*~", "a__7E")],
)
def test_names_are_scrubbed_as_by_java(name: str, wanted: str) -> None:
    """CNV-10."""
    assert scrubbed(name) == wanted


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (
            struct({"a": struct({"c": COLOR})}),
            {"a": {"c": "PINK"}},
            r"^field 'a': field 'c': it is no symbol of its enum$",
        ),
        (struct({"h": HASH}), {"h": b"12345"}, r"^field 'h': it has 5 bytes, and its schema says 4"),
        (
            struct({"i": replace(INT32, default=3)}),
            {"i": None},
            r"^field 'i': Found null value for non-optional schema$",
        ),
        (struct({"s": STRING}), {"s": "secret\ud800"}, r"^field 's': a text holds half a character"),
    ],
)
def test_what_avro_does_not_hold_is_named_without_its_value(schema: Schema, value: Any, message: str) -> None:
    """CNV-17."""
    with pytest.raises(DataError, match=message):
        written(schema, value, {"enhanced.avro.schema.support": "true", "ignore.default.for.nullables": "true"})


@pytest.mark.parametrize(
    ("avro", "wanted"),
    [
        ({"type": "record", "name": "R", "namespace": "a.b", "fields": []}, "a.b.R"),
        (["null", {"type": "record", "name": "a.R", "fields": []}], "a.R"),
        ({"type": "record", "name": "R", "fields": []}, "R"),
        ({"type": "map", "values": "int"}, None),
        ("int", None),
    ],
)
def test_a_subject_may_be_named_after_the_record(avro: Any, wanted: str | None) -> None:
    """CNV-16."""
    assert record_name(avro) == wanted
