"""How the schemas of a read are found, and what is said where they are not."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from tests.schema_registry.http_registry import SchemaRegistry, served_registry

from eosfw.errors import ConfigError, EosfwError, RetriableError
from eosfw_spark.data_source import EosfwDataSource
from eosfw_spark.formats.resolution import resolve
from eosfw_spark.formats.typed_columns import TypedColumns
from eosfw_spark.source.columns import spark_schema
from eosfw_spark.source.options import parse, parse_formats, parse_stream

ENOUGH = {"kafka.bootstrap.servers": "h:1", "subscribe": "t"}
AVRO = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
NARROW = {**AVRO, "fields": [{"name": "id", "type": "int"}]}
ENVELOPE = {"schema": {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}, "payload": {"id": 1}}
DDL = {"value.format": "json", "value.schema": "id BIGINT"}


def found(given: dict[str, str], *topics: str, first: bytes | None = None) -> TypedColumns:
    read = parse_formats({**ENOUGH, **given})
    assert read is not None
    return resolve(read.formats, lambda: topics or ("t",), lambda _: first)


def refusal(given: dict[str, str], *topics: str, first: bytes | None = None) -> str:
    with pytest.raises(EosfwError) as refused:
        found(given, *topics, first=first)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def columns(typed: TypedColumns) -> str:
    return typed.spark_schema(spark_schema(headers=True)).simpleString()


def test_a_typed_column_takes_the_place_of_the_bytes() -> None:
    """CNV-30: Kafka's other columns stay; so do key and value without a format."""
    beside = found({**DDL, "value.typed.column": "order"})
    both = found({**DDL, "key.format": "json", "key.schema": "STRING", "mode": "permissive"})

    assert columns(found(DDL)) == (
        "struct<key:binary,value:struct<id:bigint>,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    assert columns(beside).startswith("struct<key:binary,value:binary,topic")
    assert columns(beside).endswith("value:binary>>,order:struct<id:bigint>>")
    assert columns(both).startswith("struct<key:string,value:struct<id:bigint>,topic")
    assert columns(both).endswith(",_corrupt_record:binary,_corrupt_record_key:binary>")
    assert parse_formats(ENOUGH) is None


def test_schemas_are_those_of_options_or_of_the_topics_subject(registry: SchemaRegistry) -> None:
    """CNV-33: JSON by Spark's DDL or its JSON, Avro by its own; else the registry's latest."""
    own = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
    registry.add("t-value", NARROW)
    registry.add("t-value", AVRO)
    registry.add("t-key", {"type": "object", "properties": {"id": {"type": "integer"}}}, "JSON")
    url = {"schema.registry.url": registry.url}
    expected = pa.struct([("id", pa.int64())])

    for given in (
        {"value.format": "json", "value.schema": json.dumps(own)},
        {"value.format": "AVRO", "value.schema": json.dumps(AVRO)},
        {"value.format": "avro", **url},
        {"value.format": "avro", "value.subject": "t-value", **url},
    ):
        assert found(given).formats["value"].type == expected
    assert found({"key.format": "json", **url}).formats["key"].type == expected


def test_each_read_has_the_schema_that_is_the_latest_then(registry: SchemaRegistry) -> None:
    """CNV-33: Spark's Python processes serve one read after the other, with a client that keeps what it has seen."""
    given = {"value.format": "avro", "schema.registry.url": registry.url}
    types = []
    for schema in (NARROW, AVRO):
        registry.add("t-value", schema)
        types.append(found(given).formats["value"].type)

    assert types == [pa.struct([("id", pa.int32())]), pa.struct([("id", pa.int64())])]


def test_the_first_envelope_says_the_columns() -> None:
    """CNV-32."""
    typed = found({"value.format": "json"}, first=json.dumps(ENVELOPE).encode())

    assert typed.formats["value"].type == pa.struct([("id", pa.int32())])


def test_what_is_found_goes_to_tasks() -> None:
    """CNV-35: they look nothing up again, and passwords are not shown."""
    typed = found({**DDL, "schema.registry.url": "http://h", "schema.registry.basic.auth.user.info": "me:secret"})

    assert pickle.loads(pickle.dumps(typed)) == typed
    assert "secret" not in repr(typed)
    read = parse({**ENOUGH, **DDL, "schema.registry.url": "http://h", "schema.registry.ssl.key.password": "secret"})
    assert "secret" not in repr(read.formats)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value.format": "jsn"}, "option value.format must be binary or json or avro or protobuf, not jsn"),
        ({"value.fromat": "json"}, "unknown option value.fromat; did you mean value.format?"),
        ({"value.schema": "id INT"}, "option value.schema needs value.format: json, avro or protobuf"),
        ({"value.format": "avro"}, "option value.format is avro without a schema: give value.schema, or schema.regis"),
        ({"value.format": "protobuf"}, "without a schema: give value.descriptor.file, or schema.registry.url"),
        (
            {"value.format": "protobuf", "value.schema": "x"},
            "option value.schema is for json and avro: give value.desc",
        ),
        ({"value.format": "avro", "value.message.name": "M"}, "option value.message.name is for protobuf, not avro"),
        ({**DDL, "value.subject": "s"}, "option value.subject is where the registry has the schema"),
        ({**DDL, "mode": "STRICT"}, "option mode must be failfast or permissive or dropmalformed, not STRICT"),
        ({"mode": "PERMISSIVE"}, "option mode is for records that are decoded: give value.format or key.format"),
        ({**DDL, "columnNameOfCorruptRecord": "bad"}, "columnNameOfCorruptRecord is for mode PERMISSIVE"),
        ({"schema.registry.url": "http://h"}, "schema.registry.url is for records that are decoded"),
        ({**DDL, "schema.registry.timeout": "5"}, "option schema.registry.url is missing; give the address"),
        (
            {**DDL, "schema.registry.urls": "x"},
            "unknown option schema.registry.urls; did you mean schema.registry.url?",
        ),
        (
            {**DDL, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": "Offset"},
            "option columnNameOfCorruptRecord is Offset, which is a column already",
        ),
        ({**DDL, "value.typed.column": "key"}, "option value.typed.column is key, which is a column already"),
    ],
)
def test_a_wrong_option_is_named_with_what_to_write(given: dict[str, str], message: str) -> None:
    """CNV-38: before anything is looked up, by batches and streams alike."""
    reads: tuple[Callable[[dict[str, str]], object], ...] = (
        lambda options: EosfwDataSource(options).schema(),
        parse,
        parse_stream,
    )
    for read in reads:
        with pytest.raises(ConfigError) as refused:
            read({**ENOUGH, **given})
        assert any(message in str(each) for each in refused.value.problems)


@pytest.mark.parametrize(
    ("given", "first", "message"),
    [
        ({"value.format": "json", "value.schema": "id"}, None, "option value.schema has a column without a type"),
        ({"value.format": "json", "value.schema": "{}"}, None, "option value.schema is no schema of Spark; write DDL"),
        ({"value.format": "avro", "value.schema": "{}"}, None, "option value.schema is no Avro schema"),
        ({"value.format": "json"}, None, "there is no record with a value yet from whose schema the columns could"),
        ({"value.format": "json"}, b"secret", "the first value does not decode: it is no JSON at character 0; give"),
        ({"value.format": "json"}, b'{"id": 1}', "the first value has no schema in it, as JsonConverter writes with"),
        ({"value.format": "json"}, b'{"schema": 1, "payload": 2}', "the schema of the first value is no JSON object"),
        (
            {"value.format": "protobuf", "value.descriptor.file": "/no/such"},
            None,
            "option value.descriptor.file cannot be read: No such file or directory: /no/such",
        ),
    ],
)
def test_a_schema_that_is_none_is_named_with_a_remedy(given: dict[str, str], first: bytes | None, message: str) -> None:
    """CNV-38."""
    assert message in refusal(given, first=first)


def avro(url: str, **more: str) -> dict[str, str]:
    return {
        "value.format": "avro",
        "schema.registry.url": url,
        **{n.replace("_", "."): text for n, text in more.items()},
    }


def test_a_registry_without_the_schema_is_named_with_a_remedy(registry: SchemaRegistry) -> None:
    """CNV-38: the address without the password in it."""
    registry.add("t-value", AVRO)
    registry.add("u-value", NARROW)
    registry.add("j-value", {"type": "object"}, "JSON")
    with_password = registry.url.replace("//", "//me:secret@")

    for given, topics, message in (
        (
            avro(with_password),
            ["x"],
            f"the schema registry at {registry.url} has no subject x-value: register its schema",
        ),
        (avro(registry.url), ["t", "u"], "the subjects t-value and u-value have different columns: read one topic"),
        (avro(registry.url), ["j"], f"subject j-value of the schema registry at {registry.url} is JSON, not AVRO"),
        (avro("ftp://h"), ["t"], "the options schema.registry.* do not fit each other, or name a file that is missing"),
    ):
        shown = refusal(given, *topics)
        assert message in shown
        assert "secret" not in shown


def test_a_remedy_for_keys_names_the_options_of_keys(registry: SchemaRegistry) -> None:
    """CNV-38: what is said of values would change nothing."""
    keys = {"key.format": "avro", "schema.registry.url": registry.url}
    union = json.dumps(["int", "string"])
    registry.add("u-key", ["int", "string"])

    assert refusal(keys, "value.subject").endswith(
        "has no subject value.subject-key: register its schema, or name another subject with key.subject"
    )
    assert refusal(keys, "u").endswith("give key.schema with one of them")
    assert refusal({"key.format": "avro", "key.schema": union}).endswith("give key.schema with one of them")


def test_a_registry_that_refuses_or_is_down_is_named_with_a_remedy(registry: SchemaRegistry) -> None:
    """CNV-38: credentials are never shown."""
    once = {"schema_registry_max_retries": "0"}
    given = {"schema_registry_basic_auth_user_info": "me:secret", **once}
    with served_registry() as gone:
        nowhere = gone.url.replace("//", "//me:secret@")

    for status, message in (
        (401, "refuses the credentials: give schema.registry.basic.auth.user.info"),
        (503, "503; try"),
    ):
        registry.failures = [status]
        assert message in refusal(avro(registry.url, **given))
    with pytest.raises(RetriableError) as refused:
        found(avro(nowhere, **once))
    assert "does not answer (ConnectError); check schema.registry.url" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_missing_packages_are_named_with_the_extra(monkeypatch: pytest.MonkeyPatch, registry: SchemaRegistry) -> None:
    """CNV-38."""
    modules = __import__("sys").modules
    monkeypatch.setitem(modules, "confluent_kafka.schema_registry", None)
    assert "pip install 'eosfw-spark[registry]'" in refusal(avro(registry.url + "/other"))
    from eosfw_spark.formats import resolution

    monkeypatch.setattr(resolution, "find_spec", lambda _: None)
    for name, extra in (("avro", "avro"), ("protobuf", "protobuf")):
        given = {"value.format": name, "schema.registry.url": registry.url}
        assert f"pip install 'eosfw-spark[{extra}]'" in refusal(given)


def test_topics_are_asked_for_only_where_subjects_need_them() -> None:
    """CNV-35: a schema that is given needs neither cluster nor registry."""

    def nobody(*_: Any) -> Sequence[str]:
        raise AssertionError

    read = parse_formats({**ENOUGH, **DDL})
    assert read is not None
    assert resolve(read.formats, nobody, nobody).formats["value"].type == pa.struct([("id", pa.int64())])  # type: ignore[arg-type]
