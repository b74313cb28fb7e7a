"""Batches that are atomic and written by all tasks, through a real Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyspark_eosfw.foreach_batch import SharedTransactionSink

from .sinks import Sink, refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def sink(embedded: str, spark: SparkSession, tmp_path: Path) -> Iterator[Sink]:
    sink = Sink(embedded, spark, tmp_path)
    yield sink
    sink.lab.close()


def run(sink: Sink, frame: DataFrame | None = None, **more: str) -> None:
    """Run a query until it has published what is there."""
    writer = (sink.lines() if frame is None else frame).writeStream.foreachBatch(
        SharedTransactionSink(sink.options(**more))
    )
    query = writer.option("checkpointLocation", str(sink.checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()


def test_batches_are_published_once(sink: Sink) -> None:
    marks = sink.folder / "failed"

    def fail_once(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        if not marks.exists():
            marks.touch()
            raise OSError("the first attempt fails")

    for number in range(2):
        sink.add(*(f"{number}-{each}" for each in range(10)))
    keyed = sink.lines().selectExpr("value AS key", "value")
    assert "the first attempt fails" in refusal(lambda: run(sink, keyed.mapInArrow(fail_once, keyed.schema)))
    assert sink.values() == []
    run(sink, keyed)
    sink.forget_commit(1)
    sink.add(*(f"2-{each}" for each in range(10)))
    run(sink, keyed)

    assert sink.values() == [f"{number}-{each}" for number in range(3) for each in range(10)]
