"""Streaming steps of a pipeline: what they write, and how they go on."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from eosfw.errors import StepFailedError
from eosfw.protocols import Step, StepInput
from eosfw_spark.steps.engine import SparkStepEngine


def step(*topics: str, output: str = "out", **more: Any) -> Step:
    inputs = [StepInput(f"t{number}", topic) for number, topic in enumerate(topics)]
    sql = {} if "function" in more else {"sql": "SELECT CAST(value AS STRING) AS word FROM t0"}
    return Step("words", inputs, output, **{**sql, "trigger": "available-now", **more})


def words(spark: SparkSession, folder: Path, written_as: str = "parquet") -> list[str]:
    return sorted(row.word for row in spark.read.format(written_as).schema("word STRING").load(str(folder)).collect())


def test_a_streaming_step_adds_what_is_new_to_its_files(
    spark: SparkSession, history: Any, finish: Any, tmp_path: Path
) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])
    assert finish(step(topic)) == 2
    history.commit(topic, [b"c"])
    assert finish(step(topic)) == 1

    assert words(spark, tmp_path / "out") == ["a", "b", "c"]


def test_a_streaming_step_writes_text_files(spark: SparkSession, history: Any, finish: Any, tmp_path: Path) -> None:
    topic = history.topic()
    history.commit(topic, [b"a", b"b"])

    assert finish(step(topic, output_format="csv")) == 2

    assert words(spark, tmp_path / "out", "csv") == ["a", "b"]


def test_a_checkpoint_and_its_output_belong_together(history: Any, finish: Any, tmp_path: Path) -> None:
    """Bad input: another step's checkpoint, a lost one, a deleted output, a note that a full disk has damaged."""
    first, second = history.topic(), history.topic()
    history.commit(first, [b"a"])
    finish(step(first))

    with pytest.raises(StepFailedError, match=f"belongs to another query: topics {first} is now {second}"):
        finish(step(second))
    with pytest.raises(StepFailedError, match="whose checkpoint is gone"):
        finish(step(first), "another")
    shutil.rmtree(tmp_path / "out")
    history.commit(first, [b"b"])
    with pytest.raises(StepFailedError, match=r"out is gone, though checkpoint .* has rows as written"):
        finish(step(first))
    (tmp_path / "checkpoint" / "step.json").write_text("")
    with pytest.raises(StepFailedError, match=r"step.json is damaged"):
        finish(step(first))


def test_a_checkpoint_that_cannot_be_made_is_named(history: Any, engine: SparkStepEngine, tmp_path: Path) -> None:
    """Bad input: a file where the folder should be."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StepFailedError, match=r"checkpoint .*file/c cannot be written: Not a directory"):
        engine.start_query(step(history.topic()), str(tmp_path / "file" / "c"), follow=False)


def test_a_query_that_fails_while_it_is_drained_is_not_drained(history: Any, engine: SparkStepEngine) -> None:
    topic = history.topic()
    failing = step(topic, trigger="1 second", sql="SELECT CAST(CAST(value AS STRING) AS INT) AS word FROM t0")
    query = engine.start_query(failing, None, follow=True)
    history.commit(topic, [b"no number"])

    with pytest.raises(StepFailedError, match="step words failed: The value 'no number'"):
        query.drain(60)


def test_one_checkpoint_serves_one_run_at_a_time(history: Any, engine: SparkStepEngine, tmp_path: Path) -> None:
    topic = history.topic()
    history.commit(topic, [b"a"])
    running = engine.start_query(step(topic, trigger="1 second"), str(tmp_path / "c"), follow=True)
    try:
        with pytest.raises(StepFailedError, match="is in use by another run"):
            engine.start_query(step(topic, trigger="1 second"), str(tmp_path / "c"), follow=True)
        assert running.drain(60)
    finally:
        running.stop()


def test_without_a_checkpoint_to_keep_the_output_is_replaced(
    spark: SparkSession, history: Any, finish: Any, tmp_path: Path
) -> None:
    topic = history.topic()
    history.commit(topic, [b"a"])
    for name in ("one", "two"):
        finish(replace(step(topic), name=name), None)

    assert words(spark, tmp_path / "out") == ["a"]


def test_a_function_joins_the_streams_of_two_topics(
    spark: SparkSession, history: Any, finish: Any, tmp_path: Path
) -> None:
    (tmp_path / "joins.py").write_text(
        "def same_key(t0, t1):\n"
        "    left, right = (t.selectExpr('CAST(key AS STRING) AS k', 'CAST(value AS STRING) AS v') for t in (t0, t1))\n"
        "    return left.alias('l').join(right.alias('r'), 'k').selectExpr('concat(l.v, r.v) AS word')\n"
    )
    cities, countries = history.topic(), history.topic()
    joined = step(cities, countries, function="joins:same_key")
    history.commit(cities, [b"Oslo, "], key=b"1")
    history.commit(countries, [b"Norway"], key=b"1")
    history.abort(countries, [b"Sweden"], key=b"1")
    history.commit(countries, [b"Italy"], key=b"2")
    history.commit(cities, [b"Rome, "], key=b"2")
    finish(joined)

    assert words(spark, tmp_path / "out") == ["Oslo, Norway", "Rome, Italy"]


def test_what_cannot_stream_gets_one_sentence(history: Any, finish: Any, tmp_path: Path) -> None:
    (tmp_path / "batches.py").write_text("def made(t0):\n    return t0.sparkSession.range(1)\n")
    topic = history.topic()

    with pytest.raises(StepFailedError, match="a DataFrame that is no stream"):
        finish(step(topic, function="batches:made"))
    with pytest.raises(StepFailedError) as refused:
        finish(step(topic, sql="SELECT count(*) AS n FROM t0"))
    assert "\n" not in str(refused.value)


def problems(steps: Sequence[Step], folder: Path) -> list[str]:
    return [problem.what for problem in SparkStepEngine.problems(steps, str(folder))]


def test_a_batch_step_cannot_replace_a_topic(tmp_path: Path) -> None:
    (found,) = problems([step("t", output="words", output_format="topic", trigger=None)], tmp_path)

    assert found.startswith("a batch step replaces its output, which topic words cannot be")


@pytest.mark.parametrize(
    ("output_format", "jar"), [("delta", "io.delta:delta-spark_"), ("iceberg", "org.apache.iceberg:iceberg-spark-")]
)
def test_formats_that_spark_does_not_bring_name_their_jar(
    tmp_path: Path, output_format: str, jar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eosfw_spark.jars._settings", str)
    (found,) = problems([step("t", output_format=output_format)], tmp_path)

    assert found.startswith(f"output format {output_format} needs {jar.partition(':')[2][:-1]}")
    assert f"set spark.jars.packages to {jar}" in found
