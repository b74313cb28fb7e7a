"""Apicurio Registry, which is none of ours, takes JSON Schemas and Protobuf; confluent-kafka reads the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import ConfigCompatibilityLevel, SchemaRegistryClient, ServerConfig

from eosfw.data import DATE, INT32, INT64, STRING, Schema, array, decimal, struct
from eosfw.errors import DataError
from eosfw.registry.loading import load_plugins

from .connect_schemas import EVERY, ONE

pytestmark = pytest.mark.ci
FORMATS = pytest.mark.parametrize("name", ["json-schema", "protobuf"])


@pytest.fixture
def made(configured: Callable[..., Any], foreign_registry: str) -> Callable[..., Any]:
    """Makes converters by name, with the properties given."""
    return lambda name, **properties: configured(load_plugins().converter(name), foreign_registry, **properties)


@pytest.fixture
def client(foreign_registry: str) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": foreign_registry}) as opened:
        yield opened


@FORMATS
def test_a_foreign_registry_takes_what_is_registered_and_gives_it_back(made: Any, name: str) -> None:
    """CNV-22, CNV-24, CNV-26: every type, written by one converter and read by another."""
    given = {"optional_for_nullables": "true"} if name == "protobuf" else {}
    data = made(name, **given).from_connect_data(f"every-{name}", EVERY, ONE)

    assert made(name, **given).to_connect_data(f"every-{name}", data).value == ONE


def test_confluents_deserializer_reads_json(made: Any, client: SchemaRegistryClient) -> None:
    """CNV-21: and validates it by the JSON Schema that the registry has."""
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    data = made("json-schema").from_connect_data("python-json", EVERY, ONE)

    read = JSONDeserializer(None, schema_registry_client=client)(
        data, SerializationContext("python-json", MessageField.VALUE)
    )

    assert read is not None
    assert (read["i64"], read["text"], read["by_number"]) == (2**40, ONE["text"], [{"key": 7, "value": "seven"}])


def test_imported_files_are_registered_where_a_registry_is_not_to_know_them(
    made: Any, client: SchemaRegistryClient
) -> None:
    """CNV-23: each is a schema by itself, that the registry reads the other with."""
    schema = struct({"day": DATE, "price": decimal(2)}, name="R")
    value = {"day": ONE["day"], "price": Decimal("1.00")}
    converter = made("protobuf", skip_known_types="false")

    data = converter.from_connect_data("references", schema, value)

    assert converter.to_connect_data("references", data).value == value
    registered = client.get_latest_version("references-value").schema
    files = ["google/type/date.proto", "confluent/type/decimal.proto"]
    assert [one.name for one in registered.references] == files
    assert set(files) <= set(client.get_subjects())


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [("json-schema", struct({"id": STRING}, name="R"), {"id": "a"}),
     ("protobuf", struct({"id": STRING}, name="R"), {"id": "a"})],
)  # fmt: skip
def test_an_incompatible_schema_is_refused_in_the_registrys_words(
    made: Any, client: SchemaRegistryClient, name: str, schema: Schema, value: Any
) -> None:
    """CNV-26: with the subject."""
    converter, topic = made(name), f"strict-{name}"
    converter.from_connect_data(topic, struct({"id": INT64}, name="R"), {"id": 1})
    client.set_config(f"{topic}-value", ServerConfig(compatibility=ConfigCompatibilityLevel.BACKWARD))

    with pytest.raises(DataError, match=rf"subject {topic}-value: .*Incompatible artifact"):
        converter.from_connect_data(topic, schema, value)
    with pytest.raises(DataError, match=rf"not compatible with the latest version of its subject, {topic}-value"):
        made(name, use_latest_version="true").from_connect_data(topic, schema, value)


@FORMATS
def test_a_schema_is_looked_up_where_registering_is_off(made: Any, name: str) -> None:
    """CNV-26: and refused where the registry does not have it."""
    schema = struct({"id": INT32, "tags": array(STRING)}, name="R")
    once = made(name).from_connect_data(f"known-{name}", schema, {"id": 1, "tags": []})
    looking = made(name, auto_register_schemas="false")

    assert looking.from_connect_data(f"known-{name}", schema, {"id": 1, "tags": []}) == once
    with pytest.raises(DataError, match=r"has no such schema in subject unknown-value"):
        looking.from_connect_data("unknown", schema, {"id": 1, "tags": []})
