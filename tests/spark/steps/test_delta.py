"""Steps that write Delta tables; only where its jars are (tests/spark/conftest.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from eosfw.errors import StepFailedError
from eosfw.protocols import Step, StepInput
from eosfw_spark.steps.engine import SparkStepEngine


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


@pytest.mark.nightly
def test_a_streaming_step_adds_what_is_new_to_its_delta_table(
    spark: SparkSession, history: Any, finish: Callable[..., int], tmp_path: Path
) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])
    assert finish(step(topic, trigger="available-now")) == 2
    history.commit(topic, [b"c"])
    assert finish(step(topic, trigger="available-now")) == 1

    assert words(spark, tmp_path) == ["a", "b", "c"]


@pytest.mark.nightly
def test_a_batch_done_again_is_in_the_delta_table_once(
    spark: SparkSession, history: Any, finish: Callable[..., int], tmp_path: Path
) -> None:
    """As after a driver that died between the table's commit and the one of Spark."""
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    assert finish(step(topic, trigger="available-now")) == 2
    committed = tmp_path / "checkpoint" / "commits" / "0"
    for file in (committed, committed.with_name(".0.crc")):
        file.unlink()
    finish(step(topic, trigger="available-now"))

    assert committed.exists()
    assert words(spark, tmp_path) == ["a", "b"]


@pytest.mark.nightly
def test_a_delta_table_of_a_lost_checkpoint_is_not_added_to(history: Any, finish: Callable[..., int]) -> None:
    topic = history.topic()
    history.commit(topic, [b"a"])
    finish(step(topic, trigger="available-now"))

    with pytest.raises(StepFailedError, match="whose checkpoint is gone"):
        finish(step(topic, trigger="available-now"), "another")
