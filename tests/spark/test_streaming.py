"""What `spark.readStream.format("eosfw")` shows of a topic, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from eosfw_spark.root_cause import root_cause
from eosfw_spark.source.stream_reader import LIMITS

Run = Callable[..., list[list[bytes | None]]]


@pytest.fixture
def query(spark: SparkSession, history: Any, tmp_path: Path) -> Callable[..., Run]:
    """A query over topics; each run goes on from its checkpoint, and returns the values of each of its batches."""

    def of(**options: object) -> Run:
        seen: list[list[bytes | None]] = []

        def keep(batch: DataFrame, number: int) -> None:
            rows = batch.orderBy("partition", "offset").collect()
            seen.append([None if row.value is None else bytes(row.value) for row in rows])

        def run(**more: object) -> list[list[bytes | None]]:
            seen.clear()
            reader = spark.readStream.format("eosfw").option("kafka.bootstrap.servers", history.servers)
            for name, value in {**options, **more}.items():
                reader = reader.option(name.replace("__", "."), value)
            ended(
                reader.load()
                .writeStream.foreachBatch(keep)
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            return [batch for batch in seen if batch]

        return run

    return of


def ended(query: StreamingQuery) -> StreamingQuery:
    assert query.awaitTermination(120)
    return query


@pytest.mark.parametrize("backend", ["confluent", "kafka-python", "memory"])
def test_a_stream_shows_each_committed_record_once_over_restarts(history: Any, query: Any, backend: str) -> None:
    topic = history.topic()
    run = query(subscribe=topic, startingOffsets="earliest", backend=backend)
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])

    assert run() == [[b"a", b"b"]]
    assert run() == []
    held = history.leave_open(topic, [b"open"])
    assert run() == []
    held.commit_transaction(30)
    history.commit(topic, [b"c"])
    assert run() == [[b"open", b"c"]]


@pytest.mark.skipif(not LIMITS, reason="PySpark before 4.2 states no limits")
def test_available_now_reads_in_bounded_batches_over_gaps_of_markers(history: Any, query: Any) -> None:
    topic = history.topic()
    expected = []
    for number in range(6):
        history.abort(topic, [b"lost"])
        history.commit(topic, [b"%d" % number])
        expected.append(b"%d" % number)

    batches = query(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=5)()

    assert [value for batch in batches for value in batch] == expected
    assert max(map(len, batches)) <= 2


def test_new_partitions_are_read_from_their_beginning(history: Any, query: Any) -> None:
    topic = history.topic()
    run = query(subscribe=topic, startingOffsets="latest")
    history.commit(topic, [b"before"])
    assert run() == []
    history.add_partitions(topic, 2)
    history.commit(topic, [b"new"], partition=1)

    assert run() == [[b"new"]]


def test_a_deleted_topic_ends_the_query_with_one_sentence(history: Any, query: Any) -> None:
    topic = history.topic()
    run = query(subscribe=topic, startingOffsets="earliest")
    history.commit(topic, [b"a"])
    assert run() == [[b"a"]]
    history.delete(topic)

    with pytest.raises(StreamingQueryException) as failed:
        run()
    assert f"no topic {topic} on {history.servers}" in root_cause(failed.value).sentence


def test_a_checkpoint_of_another_source_is_refused(
    spark: SparkSession, history: Any, query: Any, tmp_path: Path
) -> None:
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    ended(
        rate.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    topic = history.topic()
    history.commit(topic, [b"a"])

    with pytest.raises(StreamingQueryException) as failed:
        query(subscribe=topic, startingOffsets="earliest")()
    assert "another query wrote it" in root_cause(failed.value).sentence
