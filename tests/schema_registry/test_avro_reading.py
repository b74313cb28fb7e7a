"""Avro becomes the schemas and values of Connect that Confluent's AvroData makes of it, by its own answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from builtin.golden.json_converter_cases import DEFAULTS
from eosfw.data import INT32, STRING, Schema, SchemaAndValue, array, fitted, map_of, struct
from eosfw.errors import DataError
from eosfw_schema_registry.avro.connect_schemas import connect_schema
from eosfw_schema_registry.avro.converter import AvroConverter
from eosfw_schema_registry.avro.form import AvroForm
from eosfw_schema_registry.avro.parsing import resolved
from eosfw_schema_registry.avro.reading import value_reader
from eosfw_schema_registry.avro.schema_text import schema_text
from eosfw_schema_registry.avro.schemas import avro_schema
from eosfw_schema_registry.avro.values import value_encoder
from eosfw_schema_registry.registry import RegistrySchema
from eosfw_schema_registry.wire_format import head
from kafka_connect.notation import comparable, shown_schema, shown_value
from schema_registry.golden.avro_cases import EITHER, POINT, PROPERTIES, READ, WRITTEN, cases, record, value_of
from schema_registry.golden.record_avro import datum

from .test_avro_schemas import answers, form

Question = tuple[Mapping[str, str], str, bytes]


def read(properties: Mapping[str, str], text: str, data: bytes) -> SchemaAndValue:
    node = resolved([text])
    schema = connect_schema(form(properties), node)
    return SchemaAndValue(schema, value_reader(form(properties), node, schema)(data))


def written() -> Iterator[Question]:
    for case, answer in zip(cases(), answers("avro_written.jsonl"), strict=True):
        if "error" not in answer and case.value is not None:
            yield case.properties, json.dumps(answer["schema"]), base64.b64decode(answer["bytes"])


def foreign() -> Iterator[Question]:
    for schema, value in READ:
        for properties in PROPERTIES:
            yield properties, json.dumps(schema), datum(schema, value).partition(b"\0")[2]


@pytest.mark.parametrize(("questions", "name"), [(written, "avro_read.jsonl"), (foreign, "avro_read_foreign.jsonl")])
def test_schemas_and_values_are_those_of_confluents_avro_data(questions: Any, name: str) -> None:
    """CNV-13: what AvroData reads, with each property: enums, unions, fixed sizes, names, defaults, versions."""
    pairs = zip(questions(), answers(name), strict=True)
    wrong = [(question, wanted) for question, wanted in pairs if not _agree(question, wanted)]
    assert wrong == []


def _agree(question: Question, wanted: Mapping[str, Any]) -> bool:
    # Java has no schema beside null, and does not find the member of some unions.
    if "error" in wanted or wanted["value"] is None:
        return True
    schema, value = read(*question)
    if comparable({"": shown_value(schema, value)}) != comparable({"": wanted["value"]}):
        return False
    return _without_composed_defaults(shown_schema(schema)) == _without_composed_defaults(wanted["schema"])


def _without_composed_defaults(node: Any) -> Any:
    """A schema without the defaults of containers, of which Java loses what is optional in them."""
    if isinstance(node, list):
        return [_without_composed_defaults(one) for one in node]
    if not isinstance(node, dict):
        return node
    composed = node.get("type") in ("array", "map", "struct")
    return {name: _without_composed_defaults(one) for name, one in node.items() if not (composed and name == "default")}


@pytest.mark.parametrize(
    ("schema", "default"),
    [
        (POINT, {"x": 1, "y": 2.0}),
        (array(INT32.as_optional()), [1, None]),
        (map_of(STRING, replace(INT32, default=2)), {"a": 1}),
        (map_of(INT32, STRING), {1: "a"}),
        (map_of(INT32, STRING), {}),
        (EITHER, {"int": 5, "string": None, "Point": None}),
    ],
)
def test_the_default_of_a_container_is_read_whole(schema: Schema, default: Any) -> None:
    """CNV-13."""
    whole = struct({"f": replace(schema, default=default)})
    text = schema_text(avro_schema(AvroForm(), whole))

    assert connect_schema(AvroForm(), resolved([text])).fields[0].schema.default == default


@pytest.mark.parametrize("seed", range(40))
def test_what_is_written_is_read_again(seed: int) -> None:
    """CNV-13: a value without defaults, of any schema."""
    random = Random(seed)
    schema = record(random, 2)
    value = fitted(schema, value_of(random, schema))
    text = schema_text(avro_schema(AvroForm(ignore_default=True), schema))

    assert read({}, text, value_encoder(AvroForm(ignore_default=True), schema)(value)).value == value


@pytest.mark.parametrize(("schema", "values"), [one for one in WRITTEN[:20] if one[0] not in (DEFAULTS, struct({}))])
def test_damaged_bytes_are_refused_without_showing_them(schema: Any, values: Any) -> None:
    """CNV-13, CNV-17: cut off or changed at any place, nothing but DataError comes of them."""
    random = Random(1)
    node = resolved([schema_text(avro_schema(AvroForm(), schema))])
    read_value = value_reader(AvroForm(), node, connect_schema(AvroForm(), node))
    data = value_encoder(AvroForm(), schema)(fitted(schema, values[-1]))
    for at in range(len(data)):
        for damaged in (data[:at], data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]):
            with suppress(DataError):
                read_value(damaged)
    with pytest.raises(DataError, match=r"^the bytes are no value of their Avro schema"):
        read_value(b"\x80" * 20)


def test_blocks_that_state_their_size_are_read() -> None:
    """CNV-13: as other languages write them: the count is negative then, and there may be several."""
    node = resolved(['{"type": "array", "items": "int"}'])

    assert value_reader(AvroForm(), node, array(INT32))(b"\x03\x04\x02\x04\x02\x06\0") == [1, 2, 3]


def test_a_size_that_the_bytes_do_not_have_costs_no_memory() -> None:
    """CNV-13: a count of 2**40 structs without fields would take no bytes."""
    schema = array(struct({}))
    node = resolved([schema_text(avro_schema(AvroForm(), schema))])
    with pytest.raises(DataError, match="they end too early"):
        value_reader(AvroForm(), node, schema)(b"\x80\x80\x80\x80\x80\x40\0")


@pytest.mark.parametrize(
    ("avro", "message"),
    [
        ("null", "Standalone null schemas are not supported"),
        ({"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}, "the Avro type R holds"),
        ({"type": "int", "connect.type": "int9"}, "Connect type annotation for Avro int field is null"),
        ({"type": "int", "logicalType": "date", "connect.version": 2}, "Mismatched versions"),
        ({"type": "unknown"}, "Couldn't translate unsupported schema type unknown"),
        ({"name": "R"}, "it is no Avro schema"),
    ],
)
def test_an_avro_schema_without_counterpart_is_refused(avro: Any, message: str) -> None:
    """CNV-13."""
    with pytest.raises(DataError, match=message):
        connect_schema(AvroForm(), resolved([json.dumps(avro)]))


ORDER = struct({"id": INT32, "note": STRING.as_optional()}, name="org.example.Order")


def converter(name: str) -> AvroConverter:
    made = AvroConverter()
    made.configure(AvroConverter.config.parse({"schema.registry.url": f"mock://{name}"}))
    return made


def test_a_schema_that_refers_to_others_is_read_with_them() -> None:
    """CNV-13: Confluent's schema references."""
    reader = converter("references")
    enum, record_of_it = '{"type": "enum", "name": "a.E", "symbols": ["X", "Y"]}', '{"type": "map", "values": "a.E"}'
    reader._registry.registered_id("enums", RegistrySchema(enum))
    number = reader._registry.registered_id("maps", RegistrySchema(record_of_it, "AVRO", (("a.E", "enums", 1),)))

    assert reader.to_connect_data("t", head(number) + b"\2\2k\2\0").value == {"k": "Y"}


def test_a_schema_of_another_format_is_named() -> None:
    """CNV-13."""
    reader = converter("formats")
    number = reader._registry.registered_id("s", RegistrySchema('{"type": "object"}', "JSON"))

    with pytest.raises(DataError, match=rf"the schema {number} in the schema registry is JSON, not AVRO"):
        reader.to_connect_data("t", head(number) + b"\2")
