"""JSON Schema is written and read as Confluent's JsonSchemaData does it, by its own answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from eosfw.builtin.converters import encoder_of
from eosfw.data import Schema, SchemaAndValue, fitted
from eosfw.errors import DataError
from eosfw_schema_registry.json_schema.connect_schema import connect_schema
from eosfw_schema_registry.json_schema.encoders import json_form
from eosfw_schema_registry.json_schema.schema_text import JsonSchemaRules, json_schema_text
from eosfw_schema_registry.json_schema.values import connect_value, parse_json
from kafka_connect.notation import shown_schema, shown_value
from schema_registry.golden.json_schema_cases import PROPERTIES, READ, cases

GOLDEN = Path(__file__).parent / "golden"
Question = tuple[Mapping[str, str], str, str]


def answers(name: str) -> list[Any]:
    return [json.loads(line) for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines()]


def rules(properties: Mapping[str, str]) -> JsonSchemaRules:
    form = json_form(
        numeric_decimals=properties.get("decimal.format") == "NUMERIC",
        ignore_default=properties.get("ignore.default.for.nullables") == "true",
    )
    return JsonSchemaRules(form, properties.get("object.additional.properties") != "false")


def test_schemas_are_those_of_confluents_json_schema_data() -> None:
    """CNV-20: every type, logical type and container, with each property."""
    wrong = []
    for case, wanted in zip(cases(), answers("json_schema_written.jsonl"), strict=True):
        if "error" in wanted:  # a default that is infinite, which Java cannot write
            continue
        made = json.loads(json_schema_text(rules(case.properties), case.schema))
        if in_one_order(made) != in_one_order(wanted["schema"]):
            wrong.append((case, wanted))
    assert wrong == []


def in_one_order(node: Any) -> Any:
    """Choices stand in any order, since Java's follows from hashes."""
    if isinstance(node, dict):
        made = {name: in_one_order(one) for name, one in node.items()}
        return made if "oneOf" not in made else {**made, "oneOf": sorted(made["oneOf"], key=_sorted_text)}
    return [in_one_order(one) for one in node] if isinstance(node, list) else node


def _sorted_text(node: Any) -> str:
    return json.dumps(node, sort_keys=True)


def test_values_are_those_of_confluents_json_schema_data() -> None:
    """CNV-21: to the byte; what Java has no text for is a tombstone."""
    wrong = []
    for case, wanted in zip(cases(), answers("json_schema_written.jsonl"), strict=True):
        if "error" not in wanted and written(case.properties, case.schema, case.value) != wanted["text"]:
            wrong.append((case, wanted))
    assert wrong == []


def written(properties: Mapping[str, str], schema: Schema, value: Any) -> str:
    if value is not None:
        value = fitted(schema, value)
    elif not schema.optional and (schema.default is None or "ignore.default.for.nullables" in properties):
        return ""
    return encoder_of(rules(properties).form, schema)(value)


def own() -> Iterator[Question]:
    for case, answer in zip(cases(), answers("json_schema_written.jsonl"), strict=True):
        if "error" not in answer and answer["text"]:
            yield case.properties, json.dumps(answer["schema"]), answer["text"]


def foreign() -> Iterator[Question]:
    for schema, value in READ:
        for properties in PROPERTIES:
            yield properties, json.dumps(schema), json.dumps(value)


@pytest.mark.parametrize(
    ("questions", "name"), [(own, "json_schema_read.jsonl"), (foreign, "json_schema_read_foreign.jsonl")]
)
def test_what_is_read_is_what_confluents_json_schema_data_reads(questions: Any, name: str) -> None:
    """CNV-22: what JsonSchemaData wrote, and what others may write; what it refuses is refused."""
    wrong = []
    for question, wanted in zip(questions(), answers(name), strict=True):
        if "OneOf" in _sorted_text(wanted):  # the places of choices follow from hashes in Java
            continue
        found = read(*question)
        if by_names(found) != (by_names(wanted) if "error" not in wanted else "refused"):
            wrong.append((question, wanted, found))
    assert wrong == []


def by_names(node: Any) -> Any:
    """Fields in the order of their names; Java reads what is infinite, no number, or a negative zero as 0.

    It also gives a default that is a number the scale of its text, not that of its schema.
    """
    if isinstance(node, dict):
        if node.keys() == {"decimal"}:
            return {"decimal": str(Decimal(node["decimal"]).normalize())}
        return {name: _in_order(by_names(one)) if name in ("fields", "struct") else by_names(one)
                for name, one in node.items()}  # fmt: skip
    if isinstance(node, list):
        return [by_names(one) for one in node]
    return "0.0" if node in ("NaN", "Infinity", "-Infinity", "-0.0") else node


def _in_order(fields: list[Any]) -> list[Any]:
    return sorted(fields, key=_sorted_text)


def read(properties: Mapping[str, str], text: str, value: str) -> Any:
    try:
        schema = connect_schema(text, optional_unless_required="use.optional.for.nonrequired" in properties)
        made = SchemaAndValue(schema, connect_value(schema, parse_json(value.encode())))
    except DataError:
        return "refused"
    return {"schema": shown_schema(made.schema), "value": shown_value(*made)}
