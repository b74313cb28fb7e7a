"""What `spark.read.format("eosfw")` shows of a topic."""

from __future__ import annotations

import json
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

from eosfw_spark.root_cause import root_cause


def load(spark: SparkSession, servers: str, **options: object) -> DataFrame:
    reader = spark.read.format("eosfw").option("kafka.bootstrap.servers", servers)
    for name, value in options.items():
        reader = reader.option(name.replace("__", "."), value)
    return reader.load()


def values(frame: DataFrame) -> list[bytes | None]:
    return [
        None if row[0] is None else bytes(row[0])
        for row in frame.orderBy("partition", "offset").select("value").collect()
    ]


@pytest.mark.parametrize("backend", ["confluent", "kafka-python", "memory"])
def test_only_committed_records_are_seen(spark: SparkSession, history: Any, backend: str) -> None:
    """CON-02: whichever client the executors read with."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])
    history.commit(topic, [b"c"])
    history.leave_open(topic, [b"open"])

    committed = load(spark, history.servers, subscribe=topic, backend=backend)
    assert values(committed) == [b"a", b"b", b"c"]
    offsets = [row.offset for row in committed.orderBy("offset").collect()]
    assert offsets == [0, 1, 5], "markers and aborted records leave gaps"

    uncommitted = {"kafka__isolation__level": "read_uncommitted"}
    everything = load(spark, history.servers, subscribe=topic, backend=backend, **uncommitted)
    assert values(everything) == [b"a", b"b", b"lost", b"c", b"open"]


def test_columns_are_those_of_sparks_kafka_source(spark: SparkSession, history: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"v"], key=b"k", timestamp=1_700_000_000_123, headers=[("h", b"1"), ("h", None)])
    history.commit(topic, [None])

    frame = load(spark, history.servers, subscribe=topic, includeHeaders="true")
    first, second = frame.orderBy("offset").collect()

    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    assert (bytes(first.key), bytes(first.value), first.topic, first.partition, first.timestampType) == (
        b"k",
        b"v",
        topic,
        0,
        0,
    )
    assert first.timestamp.timestamp() == 1_700_000_000.123
    assert [(each.key, each.value) for each in first.headers] == [("h", b"1"), ("h", None)]
    assert (second.key, second.value, second.headers) == (None, None, None)
    assert "headers" not in load(spark, history.servers, subscribe=topic).columns


def test_each_part_of_a_topic_is_shown_once(spark: SparkSession, history: Any) -> None:
    """In many tasks, between given offsets, and where an aborted transaction is all that there is."""
    topic, nothing = history.topic(2), history.topic()
    expected = [b"%d" % number for number in range(50)]
    history.commit(topic, expected[:30])
    history.abort(topic, [b"lost"] * 7)
    history.commit(topic, expected[30:], partition=1)
    history.abort(nothing, [b"lost"])
    offsets = {"startingOffsets": {"0": 3, "1": -2}, "endingOffsets": {"0": 6, "1": -1}}
    part = {name: json.dumps({topic: given}) for name, given in offsets.items()}

    many = load(spark, history.servers, subscribe=f"{topic}, {nothing}", minPartitions=7)

    assert many.rdd.getNumPartitions() >= 7
    assert values(many) == expected
    assert values(load(spark, history.servers, subscribe=topic, **part)) == expected[3:6] + expected[30:]
    assert load(spark, history.servers, subscribe=nothing).count() == 0


def test_a_pattern_and_task_sizes_choose_what_is_read(spark: SparkSession, history: Any, fresh: Any) -> None:
    """As options of Spark's Kafka source do; `failOnDataLoss=false` reads what retention left."""
    stem = fresh("pattern")
    for name in (f"{stem}-a", f"{stem}-b"):
        history.create(name)
        history.commit(name, [b"%d" % number for number in range(9)])  # and a marker

    frame = load(spark, history.servers, subscribePattern=f"^{stem}", maxRecordsPerPartition=4, startingTimestamp=0)

    assert frame.rdd.getNumPartitions() == 6
    assert frame.count() == 18


def test_lost_records_fail_a_read_or_are_left_out(spark: SparkSession, history: Any) -> None:
    """The ranges are complete, so nobody asks the cluster before the task finds its records gone."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b", b"c"])
    history.delete_before(topic, 2)
    given = {"assign": f'{{"{topic}":[0]}}'}
    for side, offset in (("starting", 0), ("ending", 3)):
        given[f"{side}Offsets"] = f'{{"{topic}":{{"0":{offset}}}}}'

    assert values(load(spark, history.servers, failOnDataLoss="false", **given)) == [b"c"]
    assert failure(lambda: load(spark, history.servers, **given)).startswith(
        f"{topic}-0 lost its offsets 0 to 1: retention or DeleteRecords took them before they were read; "
    )


# --- what goes wrong is said in one sentence, within a bounded time


def failure(frame_of: Any) -> str:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Spark's own classes differ by version
        frame_of().collect()
    sentence = root_cause(raised.value).sentence
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


def test_what_cannot_be_read_is_said_in_one_sentence(spark: SparkSession, history: Any) -> None:
    servers, topic = history.servers, history.topic()
    history.commit(topic, [b"a"])
    history.leave_open(topic, [b"open"])
    end = {"endingOffsets": json.dumps({topic: {"0": 3}}), "kafkaConsumer__pollTimeoutMs": 2000}
    own = spark.read.format("eosfw").schema("value STRING").option("kafka.bootstrap.servers", servers)

    held = failure(lambda: load(spark, servers, subscribe=topic, **end))
    unknown = failure(lambda: load(spark, servers, subscribe="t", startingOfsets="earliest"))
    schema = failure(lambda: own.option("subscribe", topic).load())
    missing = failure(lambda: load(spark, servers, subscribe="nowhere"))

    assert f"{topic}-0 at offset 2" in held
    assert unknown == "unknown option startingofsets; did you mean startingOffsets?"
    assert schema.startswith("the columns are those of Spark's Kafka source: leave out schema(...)")
    assert missing == f"no topic or partition nowhere on {servers}"


def test_sql_reads_a_topic_as_a_temporary_view_and_not_as_a_table(spark: SparkSession, history: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    using = f"USING eosfw OPTIONS ('kafka.bootstrap.servers' '{history.servers}', subscribe '{topic}')"

    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW letters {using}")
    table = failure(lambda: spark.sql(f"CREATE TABLE letters_table {using}"))

    assert values(spark.sql("SELECT * FROM letters")) == [b"a", b"b"]
    assert table.endswith("write CREATE TEMPORARY VIEW ... USING eosfw OPTIONS (...)")


@pytest.mark.skipif(pyspark.__version__ < "4.3", reason="PySpark 4.0 has errors of its own for it")
def test_a_table_of_the_catalog_that_spark_created_is_neither_read_nor_filled(spark: SparkSession) -> None:
    using = "USING eosfw OPTIONS ('kafka.bootstrap.servers' '127.0.0.1:1', subscribe 'letters')"
    spark.sql(f"CREATE TABLE letters_with_columns (value BINARY) {using}")
    try:
        read = failure(lambda: spark.table("letters_with_columns"))
    finally:
        spark.sql("DROP TABLE letters_with_columns")

    filled = failure(lambda: spark.sql(f"CREATE TABLE filled_letters {using} AS SELECT 'c' AS value"))

    assert filled == read
    assert filled.startswith("no options are given, where kafka.bootstrap.servers is needed at least")
