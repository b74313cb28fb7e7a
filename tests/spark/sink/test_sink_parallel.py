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
    """S1, S3: an attempt of one partition fails, later the commit log's last entry is lost; what landed stays."""
    marks = sink.folder / "failed"

    def fail_once(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches
        if context is not None and context.partitionId() == 1 and not marks.exists():
            marks.touch()
            raise OSError("the first attempt fails")

    for number in range(2):
        sink.add(*(f"{number}-{each}" for each in range(10)))
    frame = sink.lines().repartition(2).mapInArrow(fail_once, "value string")
    assert "the first attempt fails" in refusal(lambda: sink.run(frame, **PARALLEL))
    sink.run(frame, **PARALLEL)
    sink.forget_commit(1)
    sink.add(*(f"2-{each}" for each in range(10)))
    sink.run(frame, **PARALLEL)

    assert sink.values() == [f"{number}-{each}" for number in range(3) for each in range(10)]


def test_fewer_partitions_leave_writers_without_rows(sink: Sink) -> None:
    """The batch after it has both partitions again: no writer was left behind."""
    for partitions in (1, 2):
        sink.add(*(f"{sink.files}-{each}" for each in range(4)))
        sink.run(sink.lines().repartition(partitions), **PARALLEL)

    assert sink.values() == [f"{number}-{each}" for number in range(2) for each in range(4)]


def test_dataframe_without_a_version_is_refused_in_mode_parallel(sink: Sink) -> None:
    frame = sink.spark.range(1).selectExpr("cast(id as string) as value")

    refused = refusal(frame.write.format("eosfw").mode("append").options(**sink.options(**PARALLEL)).save)

    assert "mode parallel needs txnAppId and txnVersion" in refused
