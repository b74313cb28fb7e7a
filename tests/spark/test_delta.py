"""Steps that write Delta tables; only where its jars are (tests/spark/conftest.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from eosfw.config.parts import PartChoice
from eosfw.protocols import Step, StepInput
from eosfw_spark.steps.engine import SparkStepEngine

READER = PartChoice("isolation.reader", "read_committed")


@pytest.fixture
def engine(spark: SparkSession, history: Any, tmp_path: Path) -> Iterator[SparkStepEngine]:
    properties = {"bootstrap.servers": history.servers}
    with closing(SparkStepEngine.start("confluent", properties, str(tmp_path), READER)) as started:
        yield started


def step(topic: str, **more: Any) -> Step:
    sql = "SELECT CAST(value AS STRING) AS word FROM t"
    return Step("words", [StepInput("t", topic)], "out", sql, output_format="delta", **more)


def words(spark: SparkSession, folder: Path) -> list[str]:
    return sorted(row.word for row in spark.read.format("delta").load(str(folder / "out")).collect())


def test_a_batch_step_replaces_its_delta_table(
    spark: SparkSession, engine: SparkStepEngine, history: Any, tmp_path: Path
) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])
    assert SparkStepEngine.problems([step(topic)], str(tmp_path)) == []

    counts = [engine.run(step(topic), history.bounds(topic)) for _ in range(2)]

    assert (counts, words(spark, tmp_path)) == ([2, 2], ["a", "b"])
