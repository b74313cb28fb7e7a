"""What `format("eosfw")` shows of topics whose keys and values have a format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.schema_registry.connect_schemas import EVERY as EVERY_FIELD
from tests.schema_registry.connect_schemas import ONE
from tests.schema_registry.http_registry import SchemaRegistry, served_registry

from eosfw.config.parts import PartChoice
from eosfw.registry.loading import load_plugins
from eosfw_spark.root_cause import root_cause

from ..formats.test_protobuf import EVERY as EVERY_MESSAGE
from ..formats.test_protobuf import FULL, descriptor_file, message_of
from .test_reading import failure, load

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
    ],
}
NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
EVERY = (
    "b BOOLEAN, i TINYINT, s SMALLINT, n INT, l BIGINT, f FLOAT, d DOUBLE, t STRING, y BINARY, c DECIMAL(5,2),"
    " day DATE, at TIMESTAMP, local TIMESTAMP_NTZ,"
    " list ARRAY<STRUCT<x: INT>>, map MAP<STRING, ARRAY<INT>>, o STRUCT<a: STRING>"
)
VALUE = {
    "b": True,
    "i": 1,
    "s": 2,
    "n": 3,
    "l": 4,
    "f": 0.5,
    "d": 0.25,
    "t": "ø",
    "y": "AP8=",
    "c": 1.25,
    "day": "2024-01-31",
    "at": "2024-01-31T12:00:00Z",
    "local": "2024-01-31T12:00:00",
    "list": [{"x": 1}, None],
    "map": {"k": [1, None]},
    "o": {"a": "b"},
}


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    with served_registry() as served:
        yield served


def avro(value: dict[str, Any], number: int) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(AVRO), value)
    return b"\0" + number.to_bytes(4, "big") + stream.getvalue()


def test_json_has_the_columns_of_its_schema(spark: SparkSession, history: Any) -> None:
    """CNV-30: of every type, for SQL and for Python; Kafka's other columns stay."""
    topic = history.topic()
    history.commit(topic, [json.dumps(VALUE).encode(), None, b"{}"], key=b"7")
    given = {"value__format": "json", "value__schema": EVERY, "key__format": "json", "key__schema": "INT"}

    frame = load(spark, history.servers, subscribe=topic, **given).orderBy("offset")
    first, tombstone, empty = frame.collect()

    assert frame.where("value.c = 1.25 AND key = 7").select("value.*").columns == list(VALUE)
    assert first.value.asDict(recursive=True) == {
        **VALUE,
        "y": bytearray(b"\0\xff"),
        "c": Decimal("1.25"),
        "day": date(2024, 1, 31),
        "at": first.value.at,
        "local": datetime(2024, 1, 31, 12),  # noqa: DTZ001 - a time of no zone
    }
    assert first.value.at.timestamp() == NOON.timestamp()
    assert (tombstone.value, set(empty.value.asDict().values()), first.key) == (None, {None}, 7)
    assert (first.topic, first.partition, tombstone.offset) == (topic, 0, 1)


def test_avro_is_decoded_by_the_schemas_of_a_registry(
    spark: SparkSession, history: Any, registry: SchemaRegistry
) -> None:
    """CNV-33, CNV-35: which is asked for a schema once for each process, not for each record."""
    topic = history.topic(2)
    number = registry.add(f"{topic}-value", AVRO)
    orders = [{"id": n, "price": Decimal("2.50"), "at": NOON, "tags": ["a"], "counts": {"x": n}} for n in range(50)]
    history.commit(topic, [avro(each, number) for each in orders])
    history.abort(topic, [b"lost"])
    history.commit(topic, [avro({**orders[0], "price": None}, number)], partition=1)
    given = {"value__format": "avro", "schema__registry__url": registry.url}

    rows = load(spark, history.servers, subscribe=topic, **given).orderBy("partition", "offset").collect()

    assert [row.value.id for row in rows] == [*range(50), 0]
    last, other = rows[49].value, rows[50].value
    assert (last.price, last.tags, last.counts) == (Decimal("2.50"), ["a"], {"x": 49})
    assert last.at.timestamp() == NOON.timestamp()
    assert other.price is None
    assert len([each for each in registry.requests if each == f"GET /schemas/ids/{number}"]) <= 2


def test_protobuf_is_decoded_by_a_descriptor_file(spark: SparkSession, history: Any, tmp_path: Path) -> None:
    """CNV-33, CNV-37: every type is one of Spark's."""
    topic, file = history.topic(), tmp_path / "every.desc"
    file.write_bytes(descriptor_file(EVERY_MESSAGE))
    history.commit(topic, [message_of(EVERY_MESSAGE, "shop.Order", FULL), b""])

    frame = load(spark, history.servers, subscribe=topic, value__format="protobuf", value__descriptor__file=str(file))
    full, empty = frame.orderBy("offset").selectExpr("value.*", "value.took < INTERVAL 0 SECOND AS back").collect()

    assert (full["count"], full.big, full.suit, full.maybe, full.opt) == (4294967295, Decimal(2**64 - 1), "B", 0, 0)
    assert (full.took, full.back, full.prices, full.tags) == (timedelta(seconds=-1.5), True, {"p": 0.5}, ["x", "y"])
    assert (empty.id, empty.took, empty.opt, empty.tags) == (0, None, None, [])


@pytest.mark.parametrize("name", ["json-schema", "protobuf"])
def test_what_converters_with_a_registry_write_has_the_columns_of_its_schema(
    spark: SparkSession, history: Any, registry: SchemaRegistry, name: str
) -> None:
    """CNV-27: by the registered schema, with the types of Kafka Connect's logical types."""
    topic = history.topic()
    given = {"schema.registry.url": registry.url}
    converter = PartChoice("value.converter", name, given).configured(load_plugins().converter(name))
    history.commit(topic, converter.from_connect_columns(topic, EVERY_FIELD, [ONE, {**ONE, "maybe": "x"}]))
    converter.close()
    options = {"value__format": name.removesuffix("-schema"), "schema__registry__url": registry.url}

    rows = load(spark, history.servers, subscribe=topic, **options).orderBy("offset").collect()

    first, second = (row.value.asDict(recursive=True) for row in rows)
    plain = ("i8", "i16", "i32", "i64", "f32", "f64", "yes", "text", "day", "tags", "place")
    assert {one: first[one] for one in plain} == {one: ONE[one] for one in plain} | {
        "place": {"city": "Bern", "zip": None if name == "json-schema" else 0}
    }
    assert (bytes(first["data"]), rows[0].value.when.timestamp()) == (ONE["data"], ONE["when"].timestamp())
    assert second["maybe"] == "x"
    if name == "json-schema":
        assert (first["price"], first["counts"], first["maybe"]) == (Decimal("12.50"), {"x": 1}, None)
    else:  # a map is a list of entries, as Confluent's converter writes it, and what is no message is never null
        assert (first["price"]["scale"], first["counts"], first["maybe"]) == (2, [{"key": "x", "value": 1}], "")


@pytest.fixture
def batches(spark: SparkSession, tmp_path: Path) -> Callable[..., list[list[Any]]]:
    """Runs a query over what is committed; returns the rows of each batch. It goes on from where it ended."""

    def run(**options: object) -> list[list[Any]]:
        reader = spark.readStream.format("eosfw").option("startingOffsets", "earliest")
        for name, value in options.items():
            reader = reader.option(name.replace("__", "."), value)
        seen: list[list[Any]] = []

        def keep(batch: DataFrame, _: int) -> None:
            seen.append(batch.orderBy("partition", "offset").collect())

        writer = reader.load().writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return [each for each in seen if each]

    return run


@pytest.mark.parametrize("prefetch", [0, 1000], ids=["in_tasks", "beside_the_driver"])
def test_a_stream_goes_on_with_typed_columns(history: Any, batches: Any, prefetch: int) -> None:
    """CNV-32, CNV-36: over a restart; by the first envelope, where batches are read in tasks and where not."""
    topic = history.topic()
    schema = {"type": "struct", "fields": [{"field": "id", "type": "int64"}]}
    values = [json.dumps({"schema": schema, "payload": {"id": n}}).encode() for n in range(3)]
    given = {
        "kafka__bootstrap__servers": history.servers,
        "subscribe": topic,
        "value__format": "json",
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "bad",
        "prefetchOffsets": prefetch,
    }
    history.commit(topic, [values[0], None, b"secret"])

    first = batches(**given)
    history.commit(topic, values[1:])
    second = batches(**given)

    assert [[(row.value and row.value.id, row.bad) for row in batch] for batch in first] == [
        [(0, None), (None, None), (None, bytearray(b"secret"))]
    ]
    assert [[row.value.id for row in batch] for batch in second] == [[1, 2]]


def test_what_does_not_decode_fails_a_read_with_its_offset(spark: SparkSession, history: Any) -> None:
    """CNV-36: or is left out, by Spark's modes; the bytes are never shown."""
    topic = history.topic()
    history.commit(topic, [b'{"id": 1}', b"secret"])
    given = {"subscribe": topic, "value__format": "json", "value__schema": "id INT"}

    failed = failure(lambda: load(spark, history.servers, **given))

    assert failed.startswith(
        f"the value of {topic}-0 at offset 1 does not decode: it is no JSON at character 0; to read"
    )
    assert "secret" not in failed
    assert load(spark, history.servers, **given, mode="DROPMALFORMED").select("value.id").collect() == [(1,)]


def test_a_schema_that_is_missing_is_said_on_the_driver(
    spark: SparkSession, history: Any, registry: SchemaRegistry
) -> None:
    """CNV-38: by `load`, before any task starts, without the password of the registry."""
    topic = history.topic()
    url = registry.url.replace("//", "//me:secret@")
    given = {"subscribe": topic, "value__format": "avro", "schema__registry__url": url}

    for read in (spark.read, spark.readStream):
        reader = read.format("eosfw").option("kafka.bootstrap.servers", history.servers)
        for name, value in given.items():
            reader = reader.option(name.replace("__", "."), value)
        with pytest.raises(Exception) as raised:  # noqa: PT011 - Spark's own classes differ by version
            reader.load()
        sentence = root_cause(raised.value).sentence
        assert sentence.startswith(f"the schema registry at {registry.url} has no subject {topic}-value: register")
        assert "secret" not in sentence
