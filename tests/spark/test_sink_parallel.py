"""Mode `parallel` of the sink through a real Spark session (S1 to S4, F40)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .sinks import Sink, refusal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARALLEL = {"mode": "parallel", "writers": "2"}


@pytest.fixture
def sink(embedded: str, spark: SparkSession, tmp_path: Path) -> Iterator[Sink]:
    sink = Sink(embedded, spark, tmp_path)
    yield sink
    sink.lab.close()


def test_partitions_of_each_batch_are_published_once(sink: Sink) -> None:
    """S1: the commit log's last entry is lost, so the restarted query runs its last batch again."""
    for number in range(3):
        sink.add(*(f"{number}-{each}" for each in range(10)))
    frame = sink.lines().repartition(2)
    sink.run(frame, **PARALLEL)
    sink.forget_commit(2)
    sink.add(*(f"3-{each}" for each in range(10)))

    sink.run(frame, **PARALLEL)

    assert sink.values() == [f"{number}-{each}" for number in range(4) for each in range(10)]


def test_fewer_partitions_leave_writers_without_rows(sink: Sink) -> None:
    """The batch after it has both partitions again: no writer was left behind."""
    for partitions in (1, 2, 1):
        sink.add(*(f"{sink.files}-{each}" for each in range(4)))
        sink.run(sink.lines().repartition(partitions), **PARALLEL)

    assert sink.values() == [f"{number}-{each}" for number in range(3) for each in range(4)]


def test_more_partitions_than_writers_are_refused_with_the_remedy(sink: Sink) -> None:
    sink.add(*(str(each) for each in range(9)))
    frame = sink.lines().repartition(3)

    refused = refusal(lambda: sink.run(frame, **PARALLEL))
    sink.run(frame, **{**PARALLEL, "writers": "3"})

    assert "partition 2 of batch 0" in refused
    assert "set it to the number of partitions" in refused
    assert sink.values() == [str(each) for each in range(9)]


def test_failed_attempt_of_one_partition_leaves_the_others_published(sink: Sink) -> None:
    """S3: the restarted query publishes what is missing."""
    sink.add(*(str(each) for each in range(10)))
    marks = sink.folder / "failed"

    def fail_once(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches
        if context is not None and context.partitionId() == 1 and not marks.exists():
            marks.touch()
            raise OSError("the first attempt fails")

    frame = sink.lines().repartition(2).mapInArrow(fail_once, "value string")
    assert "the first attempt fails" in refusal(lambda: sink.run(frame, **PARALLEL))
    sink.run(frame, **PARALLEL)

    assert sink.values() == [str(each) for each in range(10)]


def test_version_of_a_dataframe_is_published_once(sink: Sink) -> None:
    frame = sink.spark.range(10).repartition(2).selectExpr("cast(id as string) as value")
    writer = frame.write.format("eosfw").mode("append")
    versioned = {**sink.options(**PARALLEL), "txnAppId": sink.lab.name(), "txnVersion": "7"}

    for _ in range(2):
        writer.options(**versioned).save()

    assert sink.values() == [str(number) for number in range(10)]


def test_dataframe_without_a_version_is_refused_in_mode_parallel(sink: Sink) -> None:
    frame = sink.spark.range(1).selectExpr("cast(id as string) as value")

    refused = refusal(frame.write.format("eosfw").mode("append").options(**sink.options(**PARALLEL)).save)

    assert "mode parallel needs txnAppId and txnVersion" in refused


def test_missing_topic_is_told_in_one_sentence(sink: Sink) -> None:
    sink.add("0")
    sink.topic = sink.lab.name()

    assert f"there is no topic {sink.topic}; create it first" in refusal(lambda: sink.run(**PARALLEL))
