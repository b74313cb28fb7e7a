"""What `spark.read.format("eosfw")` shows of a topic."""

from __future__ import annotations

from typing import Any

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


KAFKA = pytest.param("real_kafka", marks=pytest.mark.kafka, id="kafka")


@pytest.mark.parametrize("cluster", ["embedded", KAFKA], indirect=True)
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

    uncommitted = {"kafka__isolation__level": "read_uncommitted"}
    everything = load(spark, history.servers, subscribe=topic, backend=backend, **uncommitted)
    assert values(everything) == [b"a", b"b", b"lost", b"c", b"open"]


def test_offsets_keep_the_gaps_of_markers_and_aborted_records(spark: SparkSession, history: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])  # 0, 1 and a marker
    history.abort(topic, [b"lost"])  # 3 and a marker
    history.commit(topic, [b"c"])

    seen = load(spark, history.servers, subscribe=topic).orderBy("offset").collect()

    assert [row.offset for row in seen] == [0, 1, 5]


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


def test_headers_come_only_when_asked_for(spark: SparkSession, history: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"v"], headers=[("h", b"1")])

    assert "headers" not in load(spark, history.servers, subscribe=topic).columns


def test_an_empty_topic_has_no_rows(spark: SparkSession, history: Any) -> None:
    frame = load(spark, history.servers, subscribe=history.topic(3))

    assert frame.count() == 0


def test_a_topic_that_holds_nothing_but_an_aborted_transaction_has_no_rows(spark: SparkSession, history: Any) -> None:
    topic = history.topic()
    history.abort(topic, [b"lost"])

    assert load(spark, history.servers, subscribe=topic).count() == 0


def test_many_splits_show_each_record_once(spark: SparkSession, history: Any) -> None:
    topic = history.topic(2)
    expected = [b"%d" % number for number in range(50)]
    history.commit(topic, expected[:30])
    history.abort(topic, [b"lost"] * 7)
    history.commit(topic, expected[30:], partition=1)

    frame = load(spark, history.servers, subscribe=topic, minPartitions=7)

    assert frame.rdd.getNumPartitions() >= 7
    assert values(frame) == expected


def test_several_topics_are_one_table(spark: SparkSession, history: Any) -> None:
    one, other = history.topic(), history.topic()
    history.commit(one, [b"a"])
    history.commit(other, [b"b"])

    rows = load(spark, history.servers, subscribe=f"{one}, {other}").select("topic", "value").collect()

    assert {(row.topic, bytes(row.value)) for row in rows} == {(one, b"a"), (other, b"b")}


def test_offsets_given_as_json_bound_the_read(spark: SparkSession, history: Any) -> None:
    topic = history.topic(2)
    history.commit(topic, [b"%d" % number for number in range(10)])
    history.commit(topic, [b"x"], partition=1)

    frame = load(
        spark,
        history.servers,
        subscribe=topic,
        startingOffsets=f'{{"{topic}":{{"0":3,"1":-2}}}}',
        endingOffsets=f'{{"{topic}":{{"0":6,"1":-1}}}}',
    )

    assert values(frame) == [b"3", b"4", b"5", b"x"]


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


def test_a_missing_topic_is_named(spark: SparkSession, history: Any) -> None:
    message = failure(lambda: load(spark, history.servers, subscribe="nowhere"))

    assert message == f"no topic or partition nowhere on {history.servers}"


def test_an_unreachable_broker_is_named(spark: SparkSession, java: None) -> None:
    message = failure(lambda: load(spark, "127.0.0.1:1", subscribe="t", kafka__default__api__timeout__ms="2000"))

    assert "127.0.0.1:1" in message


def test_an_open_transaction_below_the_end_is_named_within_bounds(spark: SparkSession, history: Any) -> None:
    topic = history.topic()
    history.commit(topic, [b"a"])
    history.leave_open(topic, [b"open"])
    end = f'{{"{topic}":{{"0":3}}}}'

    message = failure(
        lambda: load(spark, history.servers, subscribe=topic, endingOffsets=end, kafkaConsumer__pollTimeoutMs=5000)
    )

    assert f"{topic}-0 at offset 2" in message


def test_a_schema_of_the_users_own_is_refused(spark: SparkSession) -> None:
    given = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}

    message = failure(lambda: spark.read.format("eosfw").schema("value STRING").options(**given).load())

    assert message == "the columns are those of Spark's Kafka source: leave out schema(...), and convert them by select"


def test_an_unknown_option_gets_the_nearest_name(spark: SparkSession) -> None:
    message = failure(lambda: load(spark, "127.0.0.1:1", subscribe="t", startingOfsets="earliest"))

    assert message == "unknown option startingofsets; did you mean startingOffsets?"
