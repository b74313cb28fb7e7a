"""Apicurio Registry, which is none of ours, takes the schemas; Java and confluent-kafka read the records by them."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import jgo
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from builtin.golden.json_converter_cases import DEFAULTS
from eosfw.data import (
    DATE,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    array,
    decimal,
    fitted,
    fitted_values,
    map_of,
    struct,
)
from eosfw.errors import DataError
from eosfw_schema_registry.avro.converter import AvroConverter
from eosfw_schema_registry.avro.form import FIXED_SIZE

from .golden.avro_cases import cases

pytestmark = pytest.mark.ci

CONSUMER = Path(__file__).parent / "java" / "AvroConsumer.java"
JARS = "org.apache.avro:avro:1.12.2+org.apache.kafka:connect-json:4.1.1"
ORDER = struct(
    {
        "id": INT64,
        "note": STRING.as_optional(),
        "price": decimal(2),
        "day": DATE,
        "at": TIME,
        "seen": TIMESTAMP,
        "size": replace(INT8, default=3),
        "tags": array(STRING),
        "rates": map_of(STRING, FLOAT64),
        "places": map_of(INT32, STRING),
    },
    name="org.example.Order",
)
FIRST = {
    "id": 7,
    "note": "ø",
    "price": Decimal("1.50"),
    "day": date(1970, 1, 2),
    "at": time(0, 0, 1),
    "seen": datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC),
    "size": None,
    "tags": ["a", "b"],
    "rates": {"x": 0.5},
    "places": {1: "one"},
}


@pytest.fixture
def converter(configured: Callable[..., Any], foreign_registry: str) -> Callable[..., AvroConverter]:
    """Makes converters with the properties given."""
    return lambda **properties: configured(AvroConverter(), foreign_registry, **properties)


@pytest.fixture
def consumed(foreign_registry: str, unavailable: Callable[[str, str], NoReturn]) -> Callable[[Sequence[bytes]], Any]:
    """Reads records in Java, with Avro's own decoder."""
    try:
        jars = jgo.build(JARS).all_jars
    except Exception as why:  # noqa: BLE001 whatever its downloader raises
        unavailable("kafka", f"could not resolve {JARS}: {why}")

    def read(records: Sequence[bytes]) -> Any:
        lines = "".join(f"{base64.b64encode(one).decode()}\n" for one in records)
        command = ["java", "-cp", ":".join(map(str, jars)), str(CONSUMER), foreign_registry]
        done = subprocess.run(command, input=lines.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read


def test_a_java_consumer_reads_what_is_written(converter, consumed):
    """CNV-14: with Avro's own decoder, rows and columns alike; Java would write the same bytes."""
    rows = [fitted(ORDER, FIRST)] * 2
    one = converter().from_connect_data("java", ORDER, rows[0])
    columns = converter().from_connect_columns("java", ORDER, fitted_values(ORDER, rows))

    wanted = {
        "id": 7, "note": "ø", "price": "\x00\x96", "day": 1, "at": 1000, "seen": 2000, "size": 3, "tags": ["a", "b"],
        "rates": {"x": 0.5}, "places": [{"key": 1, "value": "one"}],
    }  # fmt: skip
    assert consumed([one, *columns]) == [{"same": True, "value": wanted}] * 3


def test_a_java_consumer_reads_every_type(converter, consumed):
    """CNV-14: all schemas that AvroData was asked about, but those that Java's own parser or AvroData refuses."""
    made = converter(scrub_invalid_names="true")
    asked = [one for one in cases() if not one.properties and one.value is not None and not _left_out(*one[1:])]
    records = [
        made.from_connect_data(f"every-{at}", one.schema, fitted(one.schema, one.value)) for at, one in enumerate(asked)
    ]

    answers = consumed(records)

    assert len(answers) == len(records) > 150
    assert [one for one in answers if not one["same"]] == []


def _left_out(schema: Schema, value: Any) -> bool:
    """An infinite default of an optional field, 64 digits in eight bytes, a map to which Java gives another order."""
    two_texts = schema.type is Type.MAP and len(value) > 1 and all(isinstance(key, str) for key in value)
    return schema == DEFAULTS or two_texts or (schema.name == decimal(2).name and FIXED_SIZE in schema.parameters)


def test_confluents_deserializer_reads_what_is_written(converter, foreign_registry):
    """CNV-15."""
    written = converter().from_connect_data("python", ORDER, fitted(ORDER, FIRST))

    with SchemaRegistryClient({"url": foreign_registry}) as client:
        read = AvroDeserializer(client)(written, SerializationContext("python", MessageField.VALUE))

    assert read == FIRST | {"size": 3, "places": [{"key": 1, "value": "one"}]}


def test_a_schema_is_looked_up_where_registering_is_off(converter):
    """CNV-15."""
    once = converter().from_connect_data("known", ORDER, fitted(ORDER, FIRST))
    looking = converter(auto_register_schemas="false")

    assert looking.from_connect_data("known", ORDER, fitted(ORDER, FIRST)) == once
    with pytest.raises(DataError, match=r"has no such schema in subject unknown-value, .* is false: "):
        looking.from_connect_data("unknown", ORDER, fitted(ORDER, FIRST))


def test_an_incompatible_schema_is_refused_in_the_registrys_words(converter, foreign_registry):
    """CNV-15, CNV-17: with the subject."""
    made = converter()
    narrow, wide = struct({"id": INT64}, name="R"), struct({"id": INT64, "name": STRING}, name="R")
    made.from_connect_data("strict", narrow, {"id": 1})
    require_backward_compatibility(foreign_registry, "strict-value")

    with pytest.raises(DataError, match=r"subject strict-value: .*Incompatible artifact: strict-value .*409"):
        made.from_connect_data("strict", wide, {"id": 1, "name": "a"})


def require_backward_compatibility(url: str, subject: str) -> None:
    from confluent_kafka.schema_registry import ConfigCompatibilityLevel, ServerConfig

    with SchemaRegistryClient({"url": url}) as client:
        client.set_config(subject, ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))


@pytest.mark.parametrize("schema", [INT64, STRING.as_optional(), array(ORDER)])
def test_a_key_of_any_schema_is_registered_under_the_topics_keys(converter, foreign_registry, schema: Schema):
    """CNV-15."""
    value = {INT64: 7, STRING.as_optional(): "a"}.get(schema, [FIRST])

    converter(converter_type="key").from_connect_data(f"keys-{schema.type.value}", schema, fitted(schema, value))

    with SchemaRegistryClient({"url": foreign_registry}) as client:
        assert f"keys-{schema.type.value}-key" in client.get_subjects()
