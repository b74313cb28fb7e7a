"""How rows with the columns of Spark's Kafka sink become batches of records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from eosfw.errors import ConfigError, DamagedDataError
from eosfw.records import ProducerBatch
from eosfw_spark.sink.rows import producer_batches, sent_batch, sink_columns

HEADERS = "array<struct<key:string,value:binary>>"
NOW = 1_700_000_000_000


TYPES: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "timestamp": TimestampType(),
    "map": MapType(StringType(), BinaryType()),
    "text": ArrayType(StructType().add("key", StringType()).add("value", StringType())),
    HEADERS: ArrayType(StructType().add("key", StringType()).add("value", BinaryType())),
}


def schema(ddl: str) -> StructType:
    """Spark's own reading of a DDL needs a session."""
    fields = (field.split(" ") for field in ddl.split(", "))
    return StructType([StructField(name, TYPES[kind]) for name, kind in fields])


def arrow(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def sent(ddl: str, batch: pa.RecordBatch, topic: str | None = "t") -> list[ProducerBatch]:
    return list(producer_batches(sent_batch(batch, sink_columns(schema(ddl), topic)), topic, NOW))


def problems(ddl: str, topic: str | None = "t") -> list[str]:
    with pytest.raises(ConfigError) as raised:
        sink_columns(schema(ddl), topic)
    return [str(each) for each in raised.value.problems]


def test_text_and_bytes_are_sent_as_bytes_in_one_batch() -> None:
    batch = arrow(key=pa.array(["a", None]), value=pa.array([b"1", None], pa.binary()))

    assert sent("key string, value binary", batch) == [ProducerBatch("t", [b"1", None], [b"a", None])]


def test_the_topic_of_the_options_wins_over_the_column() -> None:
    batch = arrow(topic=["a", "b"], value=["1", "2"])

    assert sent("topic string, value string", batch) == [ProducerBatch("t", [b"1", b"2"])]


def test_many_rows_of_one_partition_keep_their_order() -> None:
    rows = [(f"t{at % 3}", [0, 1, None][at % 5 % 3], str(at)) for at in range(5000)]
    topics, partitions, values = zip(*rows, strict=True)
    batch = arrow(topic=list(topics), partition=pa.array(partitions, pa.int32()), value=list(values))

    found = sent("topic string, partition int, value string", batch, topic=None)

    assert len(found) == 9
    for each in found:
        expected = [value.encode() for topic, number, value in rows if (topic, number) == (each.topic, each.partition)]
        assert each.values == expected


def test_timestamps_are_milliseconds_and_null_is_the_present() -> None:
    stamps = pa.array([1_234_567, None], pa.timestamp("us", tz="UTC"))

    (found,) = sent("timestamp timestamp, value string", arrow(timestamp=stamps, value=["1", "2"]))
    (numbers,) = sent("timestamp bigint, value string", arrow(timestamp=[5, None], value=["1", "2"]))
    (none,) = sent("timestamp bigint, value string", arrow(timestamp=pa.array([None], pa.int64()), value=["1"]))

    assert found.timestamps == [1234, NOW]
    assert numbers.timestamps == [5, NOW]
    assert none.timestamps is None


def test_headers_are_sent_with_each_record() -> None:
    headers = pa.array(
        [[("a", b"1"), ("b", None)], None, [], [("c", b"3")]],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    batch = arrow(value=["1", "2", "3", "4"], headers=headers)

    (found,) = sent(f"value string, headers {HEADERS}", batch)
    (sliced,) = sent(f"value string, headers {HEADERS}", batch.slice(3))
    (without,) = sent(f"value string, headers {HEADERS}", batch.slice(1, 2))

    assert found.headers == [(("a", b"1"), ("b", None)), (), (), (("c", b"3"),)]
    assert sliced.headers == [(("c", b"3"),)]
    assert without.headers is None


def test_headers_are_left_out_on_request() -> None:
    columns = sink_columns(schema(f"value string, headers {HEADERS}"), "t", headers=False)

    assert list(columns) == ["value"]


def test_columns_that_no_record_has_are_left_out() -> None:
    assert list(sink_columns(schema("offset bigint, value string, timestampType int"), "t")) == ["value"]


def test_no_rows_are_no_batch() -> None:
    assert sent("topic string, value string", arrow(topic=["a"], value=["1"]).slice(1), topic=None) == []


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ("key string", "no column value; it has: key"),
        ("value int", "the column value has the type int, it must be string or binary"),
        ("value string, key bigint", "the column key has the type bigint, it must be string or binary"),
        ("value string, partition bigint", "the column partition has the type bigint, it must be integer"),
        ("value string, timestamp string", "the column timestamp has the type string, it must be timestamp or long"),
        (
            "value string, headers map",
            f"the column headers has the type map<string,binary>, it must be {HEADERS}",
        ),
        ("value string, headers text", f"it must be {HEADERS}"),
    ],
)
def test_a_column_of_a_wrong_type_is_named(ddl: str, message: str) -> None:
    (found,) = problems(ddl)

    assert message in found


def test_a_missing_topic_is_reported_with_every_other_problem() -> None:
    found = problems("key int", topic=None)

    assert len(found) == 3
    assert "set the option topic" in found[-1]


@pytest.mark.parametrize(
    ("ddl", "columns", "message"),
    [
        ("topic string", {"topic": pa.array(["a", None])}, "a row has no topic; set the option topic"),
        ("partition int", {"partition": pa.array([0, -1], pa.int32())}, "a row has the partition -1"),
        ("timestamp bigint", {"timestamp": pa.array([-5, None])}, "a row has the timestamp -5"),
        (
            f"headers {HEADERS}",
            {
                "headers": pa.array(
                    [None, [(None, b"1")]], pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
                )
            },
            "a header without a key",
        ),
    ],
)
def test_a_row_that_cannot_be_sent_is_refused(ddl: str, columns: dict[str, Any], message: str) -> None:
    topic = None if "topic" in columns else "t"

    with pytest.raises(DamagedDataError, match=message):
        sent(f"value string, {ddl}", arrow(value=["1", "2"], **columns), topic)
