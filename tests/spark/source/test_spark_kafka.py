"""Spark's own Kafka source beside ours, row by row; only where its jars are (tests/spark/conftest.py)."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from eosfw.config.parts import PartChoice
from eosfw.ids import TopicPartition
from eosfw.protocols import StepInput
from eosfw.records import OffsetRange
from eosfw_spark.steps.tables import Tables

COMMITTED = PartChoice("isolation.reader", "read_committed")


@pytest.fixture
def topic(history: Any) -> str:
    """Committed, aborted and open transactions, markers at both ends, nulls, headers, times, an empty partition."""
    name: str = history.topic(3)
    history.abort(name, [b"lost"] * 3)
    history.commit(name, [b"a", b""], key=b"k", timestamp=1_700_000_000_123, headers=[("h", b"1"), ("h", None)])
    history.commit(name, [None], key=b"", headers=[("", b"")])
    history.abort(name, [b"lost"], key=b"k")
    history.commit(name, [b"%d" % number for number in range(100)], partition=1)
    history.commit(name, [b"last", b"\xff\x00"], timestamp=1)
    history.leave_open(name, [b"open"])
    history.leave_open(name, [b"open"], partition=1)
    return name


def tables(spark: SparkSession, servers: str) -> Tables:
    return Tables(spark, "confluent", {"bootstrap.servers": servers}, COMMITTED)


def rows(frame: DataFrame) -> list[Row]:
    return frame.orderBy("partition", "offset").collect()


def test_both_sources_show_the_same_rows(spark: SparkSession, history: Any, topic: str) -> None:
    """CON-02: what was aborted or is still open is shown by neither, in a batch."""
    of, bounds = tables(spark, history.servers), history.bounds(topic)

    ours = of.of_input(StepInput("t", topic), bounds)
    sparks = of.of_input(StepInput("t", topic, reader="spark-kafka"), bounds)

    assert sparks.schema == ours.schema
    assert rows(sparks) == rows(ours)
    assert len(rows(ours)) == 105
    assert {bytes(row.value or b"") for row in rows(sparks)}.isdisjoint({b"lost", b"open"})


def test_both_sources_show_the_same_part_of_a_topic(spark: SparkSession, history: Any, topic: str) -> None:
    """Ranges that begin or end within a transaction, at a marker, or nowhere."""
    of, partition = tables(spark, history.servers), TopicPartition(topic, 0)
    end = history.bounds(topic)[partition].end
    for start in range(0, end + 1, 3):
        bounds = {partition: OffsetRange(start, min(end, start + 4)), TopicPartition(topic, 1): OffsetRange(5, 5)}

        ours = rows(of.of_input(StepInput("t", topic), bounds))

        assert rows(of.of_input(StepInput("t", topic, reader="spark-kafka"), bounds)) == ours, bounds


def test_both_sources_stream_the_same_rows(spark: SparkSession, history: Any, topic: str, tmp_path: Any) -> None:
    of = tables(spark, history.servers)
    shown = {}
    for reader in ("eosfw", "spark-kafka"):
        place = str(tmp_path / reader)
        stream = of.of_stream(StepInput("t", topic, reader=reader)).writeStream.format("parquet")
        query = stream.option("checkpointLocation", f"{place}-checkpoint").trigger(availableNow=True).start(place)
        query.awaitTermination()
        shown[reader] = rows(spark.read.parquet(place))

    assert shown["spark-kafka"] == shown["eosfw"]
    assert len(shown["eosfw"]) == 105


def test_nothing_makes_sparks_source_show_uncommitted_records(spark: SparkSession, history: Any, topic: str) -> None:
    anything = {"kafka.isolation.level": "read_uncommitted"}
    given = StepInput("t", topic, reader="spark-kafka", options=anything)
    properties = {"bootstrap.servers": history.servers, "isolation.level": "read_uncommitted"}

    shown = rows(Tables(spark, "confluent", properties, COMMITTED).of_input(given, history.bounds(topic)))

    assert {bytes(row.value or b"") for row in shown}.isdisjoint({b"lost", b"open"})
