"""What `spark.readStream.format("eosfw")` shows of a topic, batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from eosfw_spark.source.stream_reader import LIMITS
from eosfw_spark.steps.query_progress import source_offset


class Runs:
    """A query over topics; each run goes on from its checkpoint, and returns the values of each of its batches."""

    def __init__(self, spark: SparkSession, checkpoint: Path, **options: object) -> None:
        reader = spark.readStream.format("eosfw")
        for name, value in options.items():
            reader = reader.option(name.replace("__", "."), value)
        self._frame = reader.load()
        self._checkpoint = checkpoint
        self.latest: dict[str, Any] = {}
        self.partitions: list[int] = []

    def __call__(self) -> list[list[bytes | None]]:
        seen: list[list[bytes | None]] = []

        def keep(batch: DataFrame, number: int) -> None:
            self.partitions.append(batch.rdd.getNumPartitions())
            rows = batch.orderBy("partition", "offset").collect()
            seen.append([None if row.value is None else bytes(row.value) for row in rows])

        writer = self._frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(self._checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        shown = [source.latestOffset for progress in query.recentProgress for source in progress.sources]
        self.latest = source_offset(shown[-1]) if shown else {}
        return [batch for batch in seen if batch]


@pytest.fixture
def query(spark: SparkSession, history: Any, tmp_path: Path) -> Callable[..., Runs]:
    given = {"kafka.bootstrap.servers": history.servers}
    return lambda **options: Runs(spark, tmp_path / "checkpoint", **given, **options)


def test_a_stream_shows_each_committed_record_once_over_restarts(history: Any, query: Any) -> None:
    """And its progress names whoever holds a partition back."""
    topic = history.topic()
    run = query(subscribe=topic, startingOffsets="earliest")
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])
    held = history.leave_open(topic, [b"open"])

    assert run() == [[b"a", b"b"]]
    if LIMITS:
        assert run.latest[topic] == {"0": 5}
        assert run.latest["held back"][f"{topic}-0"]["freed by"].startswith("eosfw txn fence spark-id-")
    held.commit_transaction(30)
    history.commit(topic, [b"c"])
    assert run() == [[b"open", b"c"]]


@pytest.mark.skipif(not LIMITS, reason="PySpark before 4.2 states no limits")
def test_available_now_reads_in_bounded_batches_over_gaps_of_markers(history: Any, query: Any) -> None:
    topic = history.topic()
    expected = []
    for number in range(4):
        history.abort(topic, [b"lost"])
        history.commit(topic, [b"%d" % number])
        expected.append(b"%d" % number)

    batches = query(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=5)()

    assert [value for batch in batches for value in batch] == expected
    assert max(map(len, batches)) <= 2


@pytest.mark.parametrize(("prefetched", "partitions"), [(1000, 1), (0, 3)])
def test_a_small_batch_is_one_partition_with_all_of_its_rows(
    history: Any, query: Any, prefetched: int, partitions: int
) -> None:
    """Read beside the driver, unless the query leaves it to tasks."""
    topic = history.topic(3)
    for partition, value in enumerate([b"a", b"b", b"c"]):
        history.commit(topic, [value], partition=partition)
    run = query(subscribe=topic, startingOffsets="earliest", prefetchOffsets=prefetched)

    assert run() == [[b"a", b"b", b"c"]]
    assert run.partitions == [partitions]
