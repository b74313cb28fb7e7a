"""Converters that take the schema from the record: Avro, JSON with a JSON Schema, and Protobuf."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from tests.runtime.scripted_task import run, scripted

from eosfw.data import INT32, INT64, STRING, Field, SchemaAndValue, StructColumns, array, arrow_schema_of, struct
from eosfw.errors import ConfigError, DataError, RetriableError
from eosfw.protocols import ReversibleConverter
from eosfw.records import SourceRecord
from eosfw.registry.loading import load_plugins
from eosfw_schema_registry.protobuf.stored_files import message_at, stored_file
from eosfw_schema_registry.wire_format import message_indexes, parted_indexes

from .connect_schemas import EVERY, ONE
from .http_registry import SchemaRegistry

FORMATS = pytest.mark.parametrize("name", ["json-schema", "protobuf"])
EVERY_FORMAT = pytest.mark.parametrize("name", ["avro", "json-schema", "protobuf"])
KINDS = {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}
ORDER = struct({"id": INT64, "note": STRING.as_optional()}, name="shop.Order")
VALUE = {"id": 7, "note": "ø"}
WRITTEN = {
    "avro": b"\0\0\0\0\1\x0e\x02\x04\xc3\xb8",
    "json-schema": b'\0\0\0\0\1{"id":7,"note":"\xc3\xb8"}',
    "protobuf": b"\0\0\0\0\1\0\x08\x07\x12\x02\xc3\xb8",
}
Make = Callable[..., Any]


@pytest.fixture
def made(configured: Callable[..., Any], registry: SchemaRegistry) -> Make:
    """Makes converters by name, with the properties given."""
    return lambda name, **properties: configured(load_plugins().converter(name), registry.url, **properties)


@EVERY_FORMAT
def test_the_schema_of_a_record_is_registered_once(made: Make, registry: SchemaRegistry, name: str) -> None:
    """CNV-10, CNV-11, CNV-21, CNV-23: under the subject of the topic's values; each value has its id in front."""
    converter = made(name)

    assert [converter.from_connect_data("orders", ORDER, VALUE) for _ in range(3)] == [WRITTEN[name]] * 3
    assert registry.subjects == {"orders-value": [1]}
    assert registry.kinds.get(1, "AVRO") == KINDS[name]
    assert len(registry.requests) == 1
    other = replace(ORDER, fields=ORDER.fields[:1])
    assert converter.from_connect_data("orders", other, {"id": 7})[:5] == b"\0\0\0\0\2"
    assert converter.from_connect_data("others", ORDER, VALUE)[:5] == b"\0\0\0\0\1"


@EVERY_FORMAT
def test_what_was_written_is_read_back(made: Make, name: str) -> None:
    """CNV-13, CNV-22, CNV-24: by another converter, which asks the registry once."""
    given = {"optional_for_nullables": "true"} if name == "protobuf" else {}
    writer, reader = made(name, **given), made(name, **given)
    data = writer.from_connect_data("orders", EVERY, ONE)

    read = [reader.to_connect_data("orders", data) for _ in range(2)]

    assert isinstance(reader, ReversibleConverter)
    assert [one.value for one in read] == [ONE] * 2
    assert read[0].schema is not None
    assert read[0].schema.names == EVERY.names
    assert reader.to_connect_data("orders", None) == SchemaAndValue(None, None)


@EVERY_FORMAT
def test_columns_are_written_as_each_value_by_itself(made: Make, name: str) -> None:
    """CNV-12, CNV-25: lists, columns of pyarrow with nulls and every type, and lists of dicts, nulls among them."""
    converter = made(name)
    nullable = replace(EVERY, fields=tuple(Field(one.name, one.schema.as_optional()) for one in EVERY.fields))
    rows = [ONE, dict.fromkeys(EVERY.names), {**ONE, "when": datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)}]
    lists = StructColumns({name: [one[name] for one in rows] for name in EVERY.names}, len(rows))
    batch = pa.RecordBatch.from_pylist(
        [{**one, "by_number": None, "counts": None} for one in rows], arrow_schema_of(nullable)
    )
    plain = [{**one, "by_number": None, "counts": None} for one in rows]

    def each(values: list[Any]) -> list[Any]:
        return [converter.from_connect_data("orders", nullable, one) for one in values]

    assert converter.from_connect_columns("orders", nullable, lists) == each(rows)
    assert converter.from_connect_columns("orders", nullable, StructColumns.of_arrow(batch)) == each(plain)
    assert converter.from_connect_columns("orders", nullable, [*rows, None]) == [*each(rows), None]


@FORMATS
def test_no_more_schemas_are_kept_than_the_property_says(made: Make, name: str) -> None:
    """CNV-26: those that come again are made again, with the same bytes."""
    converter = made(name, schemas_cache_config="1")
    other = replace(ORDER, name="shop.Other")

    written = [converter.from_connect_data("orders", schema, VALUE) for schema in (ORDER, other, ORDER, other)]

    assert written[:2] == written[2:]
    assert [converter.to_connect_data("orders", one).value for one in written] == [VALUE] * 4


@EVERY_FORMAT
def test_keys_have_subjects_of_their_own(made: Make, registry: SchemaRegistry, name: str) -> None:
    """CNV-26: behind the name of the topic."""
    made(name, converter_type="key").from_connect_data("orders", ORDER, VALUE)

    assert list(registry.subjects) == ["orders-key"]


@EVERY_FORMAT
def test_a_task_tries_again_until_the_registry_answers(registry: SchemaRegistry, name: str) -> None:
    """CNV-17, CNV-26: as `errors.retry.timeout` says; then the record is written, and nothing was dropped."""
    registry.failures = [503, 503, 503]
    stage = run(
        scripted([SourceRecord("orders", VALUE, None, {"p": "a"}, {"o": 1}, value_schema=ORDER)]),
        value_converter=name,
        value_converter_schema_registry_url=registry.url,
        value_converter_max_retries="0",
        errors_retry_timeout="60000",
        errors_retry_delay_max_ms="1",
    )

    assert list(stage.cluster.committed("orders")) == [WRITTEN[name]]
    assert stage.worker.status().tasks[0].error_handling.retries == 2


@EVERY_FORMAT
def test_a_registry_that_stays_down_fails_the_task_by_its_name(registry: SchemaRegistry, name: str) -> None:
    """CNV-26: and offsets and records of the batch are not written."""
    registry.failures = [503] * 10
    stage = run(
        scripted([SourceRecord("orders", VALUE, None, {"p": "a"}, {"o": 1}, value_schema=ORDER)]),
        value_converter=name,
        value_converter_schema_registry_url=registry.url.replace("//", "//user:secret@"),
        value_converter_max_retries="0",
    )

    assert list(stage.cluster.committed("orders")) == []
    trace = stage.worker.status().tasks[0].trace or ""
    assert f"the schema registry at {registry.url} cannot answer now" in trace
    assert "secret" not in trace


def test_a_package_that_protobuf_needs_is_named(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """CNV-26: before anything starts."""
    monkeypatch.setitem(sys.modules, "google.type", None)
    with pytest.raises(ConfigError, match=r"pip install 'eosfw-schema-registry\[protobuf\]'"):
        made("protobuf")


def test_nulls_are_tombstones_unless_json_writes_them(made: Make) -> None:
    """CNV-21, CNV-23: JSON writes a null whose schema allows it, as Confluent's converter does."""
    json_schema, protobuf = made("json-schema"), made("protobuf")

    for converter in (json_schema, protobuf):
        assert converter.from_connect_data("orders", None, None) is None
        assert converter.from_connect_data("orders", ORDER, None) is None
    assert json_schema.from_connect_data("orders", ORDER.as_optional(), None) == b"\0\0\0\0\1null"
    assert json_schema.to_connect_data("orders", b"\0\0\0\0\1null").value is None
    assert json_schema.from_connect_data("o", replace(INT32, default=3), None)[5:] == b"3"
    assert protobuf.from_connect_data("orders", ORDER.as_optional(), None) is None


@EVERY_FORMAT
@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("TopicNameStrategy", "orders-value"), ("RecordNameStrategy", "shop.Order"),
     ("TopicRecordNameStrategy", "orders-shop.Order")],
)  # fmt: skip
def test_subjects_are_named_as_the_strategy_says(
    made: Make, registry: SchemaRegistry, name: str, strategy: str, subject: str
) -> None:
    """CNV-16, CNV-26: from the topic, from the name of the record, or from both."""
    made(name, value_subject_name_strategy=strategy).from_connect_data("orders", ORDER, VALUE)

    assert list(registry.subjects) == [subject]


@FORMATS
def test_the_latest_version_is_written_by_if_the_registry_takes_the_schema_for_compatible(
    made: Make, registry: SchemaRegistry, name: str
) -> None:
    """CNV-26: with `use.latest.version`; nothing is registered."""
    made(name).from_connect_data("orders", replace(ORDER, name="shop.Other"), VALUE)
    requests = len(registry.requests)

    assert made(name, use_latest_version="true").from_connect_data("orders", ORDER, VALUE)[:5] == b"\0\0\0\0\1"
    registry.compatible = False
    with pytest.raises(DataError, match=r"not compatible with the latest version of its subject, orders-value"):
        made(name, use_latest_version="true").from_connect_data("orders", ORDER, VALUE)
    lax = made(name, use_latest_version="true", latest_compatibility_strict="false")
    assert lax.from_connect_data("orders", ORDER, VALUE)[:5] == b"\0\0\0\0\1"
    assert len(registry.schemas) == 1
    assert [one for one in registry.requests[requests:] if one.endswith("/versions")] == []


@pytest.mark.parametrize("serializes", [True, False])
def test_protobuf_names_the_place_of_its_message_in_the_latest_version(
    made: Make, registry: SchemaRegistry, *, serializes: bool
) -> None:
    """CNV-26: by which readers choose it; others may stand before it there, or have it inside."""
    registry.serializes = serializes
    fields = "int64 id = 1; optional string note = 2; int32 more = 9;"
    text = f'syntax = "proto3"; package shop; message Other {{ int32 x = 1; }} message Order {{ {fields} }}'
    registry.add("orders-value", text, "PROTOBUF")

    written = made("protobuf", use_latest_version="true").from_connect_data("orders", ORDER, VALUE)

    assert written == b"\0\0\0\0\1" + message_indexes((1,)) + WRITTEN["protobuf"][6:]
    assert made("protobuf").to_connect_data("orders", written).value == {**VALUE, "more": 0}


@pytest.mark.parametrize(
    "fields",
    ["int64 note = 1; string id = 2;", "int64 id = 1; string comment = 2;", "int64 id = 2; string note = 3;"],
    ids=["swapped", "renamed", "moved"],
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_latest_version_whose_fields_have_other_numbers_is_refused(
    made: Make, registry: SchemaRegistry, fields: str, *, nested: bool
) -> None:
    """CNV-26: readers would find values in other fields; registries compare numbers and types, and no names."""
    message = f"message Order {{ {fields} }}"
    text = f"message Whole {{ {message} Order order = 1; }}" if nested else message
    registry.add("orders-value", f'syntax = "proto3"; package shop; {text}', "PROTOBUF")
    schema, value = (struct({"order": ORDER}, name="shop.Whole"), {"order": VALUE}) if nested else (ORDER, VALUE)
    converter = made("protobuf", use_latest_version="true", latest_compatibility_strict="false")

    with pytest.raises(DataError, match=r"field shop.* in the latest version of its subject"):
        converter.from_connect_data("orders", schema, value)


@FORMATS
def test_a_latest_version_of_another_format_is_refused(made: Make, registry: SchemaRegistry, name: str) -> None:
    """CNV-26: by what it is."""
    registry.add("orders-value", '"long"')
    with pytest.raises(DataError, match=f"latest version of subject orders-value is AVRO, not {KINDS[name]}"):
        made(name, use_latest_version="true", latest_compatibility_strict="false").from_connect_data(
            "orders", ORDER, VALUE
        )


def test_schemas_that_refer_to_others_are_read_with_all_of_them(made: Make, registry: SchemaRegistry) -> None:
    """CNV-22, CNV-24: also with those that the others refer to."""
    texts = ['syntax = "proto3"; message C { int32 x = 1; }',
             'syntax = "proto3"; import "c.proto"; message B { C c = 1; }',
             'syntax = "proto3"; import "b.proto"; message A { B b = 1; }']  # fmt: skip
    registry.serializes = False
    for name, text in zip("cba", texts, strict=True):
        registry.add(name, text, "PROTOBUF")
    registry.references = {2: [{"name": "c.proto", "subject": "c", "version": 1}],
                           3: [{"name": "b.proto", "subject": "b", "version": 1}]}  # fmt: skip
    number = registry.add("d", json.dumps({"$ref": "e.json"}), "JSON")
    registry.references[number] = [{"name": "e.json", "subject": "e", "version": 1}]
    registry.add("e", '{"type":"integer"}', "JSON")

    read = made("protobuf").to_connect_data("t", b"\0\0\0\0\3\0\x0a\x04\x0a\x02\x08\x05")

    assert read.value == {"b": {"c": {"x": 5}}}
    assert made("json-schema").to_connect_data("t", b"\0\0\0\0" + bytes([number]) + b"7") == SchemaAndValue(INT64, 7)


@EVERY_FORMAT
def test_what_the_registry_refuses_is_said_in_its_words(made: Make, registry: SchemaRegistry, name: str) -> None:
    """CNV-26: and without the credentials of its URL."""
    url = registry.url.replace("//", "//user:secret@")
    converter = made(name, schema_registry_url=url, max_retries="0", **_given(name))
    registry.failures = [409]
    with pytest.raises(DataError, match=r"refuses to register the schema of subject orders-value: busy") as refused:
        _convert(converter, name)
    assert "secret" not in str(refused.value)


@EVERY_FORMAT
def test_a_registry_that_is_down_is_asked_again_by_the_framework(
    made: Make, registry: SchemaRegistry, name: str
) -> None:
    """CNV-26: the error is retriable, names the registry and shows no credentials; the next call goes on."""
    url = registry.url.replace("//", "//user:secret@")
    converter = made(name, schema_registry_url=url, max_retries="0", **_given(name))
    registry.failures = [503]
    with pytest.raises(RetriableError, match=registry.url) as down:
        _convert(converter, name)
    assert "secret" not in str(down.value)
    assert _convert(converter, name)[:5] == b"\0\0\0\0\1"


def _given(name: str) -> dict[str, str]:
    """Avro's schema, which is not from the record here."""
    return {"schema": json.dumps({"type": "long"})} if name == "avro" else {}


def _convert(converter: Any, name: str) -> bytes:
    schema, value = (None, 7) if name == "avro" else (ORDER, VALUE)
    written = converter.from_connect_data("orders", schema, value)
    assert isinstance(written, bytes)
    return written


@FORMATS
def test_records_without_a_schema_are_refused(made: Make, name: str) -> None:
    """CNV-26: with the converter that takes them."""
    with pytest.raises(DataError, match=r"has no schema: .* Choose json"):
        made(name).from_connect_data("orders", None, {"secret": 1})
    with pytest.raises(ConfigError, match=f"header.converter cannot be {name}"):
        made(name, converter_type="header")


@FORMATS
@pytest.mark.parametrize("data", [b"{}", b"\0\0\0\0\7{}", b"\0\0\0\0\2\0"])
def test_bytes_of_others_are_refused_by_what_is_wrong(
    made: Make, registry: SchemaRegistry, name: str, data: bytes
) -> None:
    """CNV-22, CNV-24: without an id, with an unknown one, with that of another format."""
    registry.add("a", '"long"')
    registry.add("a", '"string"')
    with pytest.raises(DataError, match=r"Unknown magic byte|has no schema with the id 7|its schema, 2, is AVRO"):
        made(name).to_connect_data("orders", data)


def test_files_that_a_protobuf_schema_imports_are_registered_where_that_is_asked_for(
    made: Make, registry: SchemaRegistry
) -> None:
    """CNV-23: each under its own subject, with `skip.known.types` off; the schema refers to them."""
    converter = made("protobuf", skip_known_types="false", optional_for_nullables="true")

    data = converter.from_connect_data("orders", EVERY, ONE)

    names = ["confluent/type/decimal.proto", "google/type/date.proto", "google/type/timeofday.proto",
             "google/protobuf/timestamp.proto"]  # fmt: skip
    assert list(registry.subjects) == [*names, "orders-value"]
    assert [(one["name"], one["subject"], one["version"]) for one in registry.references[5]] == [
        (one, one, 1) for one in names
    ]
    assert converter.to_connect_data("orders", data).value == ONE
    strategy = "io.confluent.kafka.serializers.subject.QualifiedReferenceSubjectNameStrategy"
    made("protobuf", skip_known_types="false", reference_subject_name_strategy=strategy).from_connect_data(
        "orders", EVERY, ONE
    )
    assert "google.type.date" in registry.subjects


def test_confluents_deserializer_reads_protobuf(made: Make, registry: SchemaRegistry) -> None:
    """CNV-23: with the class that Protobuf makes of the registered text, and the descriptor that the registry has."""
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext
    from google.protobuf import message_factory

    data = made("protobuf").from_connect_data("orders", EVERY, ONE)
    kind = message_factory.GetMessageClass(message_at(stored_file(registry.schemas[0]), (0,)))

    with SchemaRegistryClient({"url": registry.url}) as client:
        read = ProtobufDeserializer(kind, {}, client)(data, SerializationContext("orders", MessageField.VALUE))

    assert (read.i64, read.text, read.place.city, list(read.tags)) == (2**40, ONE["text"], "Bern", ["a", "b"])
    assert read.when.ToMilliseconds() == 1795568523456


def test_the_place_of_a_message_is_written_as_kafka_writes_numbers() -> None:
    """CNV-23: one byte for the first message of a schema."""
    assert message_indexes((0,)) == b"\0"
    assert message_indexes((2,)) == b"\x02\x04"
    for indexes in ((0,), (2,), (1, 0), (300, 5, 0)):
        assert parted_indexes(message_indexes(indexes) + b"x") == (indexes, b"x")
    for damaged in (b"", b"\x80", b"\x04\x00", b"\x01", b"\xff" * 9):
        with pytest.raises(DataError, match="damaged"):
            parted_indexes(damaged)


@EVERY_FORMAT
def test_registries_in_memory_serve_tests(made: Make, name: str) -> None:
    """CNV-26: of a mock:// URL, for writing and for reading."""
    converter = made(name, schema_registry_url=f"mock://{name}")

    data = converter.from_connect_data("orders", ORDER, VALUE)

    assert made(name, schema_registry_url=f"mock://{name}").to_connect_data("orders", data).value == VALUE


def test_plain_values_have_their_own_schemas(made: Make, registry: SchemaRegistry) -> None:
    """CNV-21, CNV-23: a number by itself is a wrapper message in Protobuf, an array none."""
    json_schema, protobuf = made("json-schema"), made("protobuf")

    assert json_schema.from_connect_data("a", array(INT64), [5])[5:] == b"[5]"
    data = protobuf.from_connect_data("b", INT64, 5)
    assert data[5:] == b"\x02\x04\x08\x05"
    assert protobuf.to_connect_data("b", data) == SchemaAndValue(INT64, 5)
    with pytest.raises(DataError, match="Unsupported root schema of type ARRAY"):
        protobuf.from_connect_data("c", array(INT64), [5])
    assert list(registry.subjects) == ["a-value", "b-value"]
