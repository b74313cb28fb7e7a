"""What steps write besides files: topics exactly once, the console; and how CSV inputs may be written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from eosfw.config.parts import PartChoice
from eosfw.pipeline import load_with_problems
from eosfw.protocols import Step, StepInput
from eosfw_spark.jars import missing_jar
from eosfw_spark.steps.engine import SparkStepEngine
from eosfw_spark.steps.outputs.topic_output import application_id
from eosfw_spark.steps.tables import Tables

READER = PartChoice("isolation.reader", "read_committed")


@pytest.fixture
def source(history: Any) -> str:
    topic: str = history.topic()
    history.commit(topic, [b"a", b"b"])
    history.abort(topic, [b"lost"])
    return topic


def to_topic(source: str, target: str) -> Step:
    sql = "SELECT upper(CAST(value AS STRING)) AS value FROM t"
    return Step("upper", [StepInput("t", source)], target, sql, output_format="topic", output_mode="append")


def values(spark: SparkSession, history: Any, topic: str) -> list[bytes]:
    tables = Tables(spark, "confluent", {"bootstrap.servers": history.servers}, READER)
    shown = tables.of_topic(topic, history.bounds(topic)).orderBy("offset").select("value").collect()
    return [bytes(row.value) for row in shown]


def test_a_repeated_batch_step_writes_its_topic_once(
    spark: SparkSession, engine: SparkStepEngine, history: Any, source: str
) -> None:
    """S1: the same records give the same rows once; more records, or another step, the whole result; fewer nothing."""
    target, few = history.topic(), history.bounds(source)
    step = to_topic(source, target)

    counts = [engine.run(step, few) for _ in range(2)]
    assert values(spark, history, target) == [b"A", b"B"]

    history.commit(source, [b"c"])
    counts += [engine.run(step, history.bounds(source)), engine.run(step, few)]
    engine.run(replace(step, sql="SELECT value FROM t"), few)
    assert values(spark, history, target) == [b"A", b"B", b"A", b"B", b"C", b"a", b"b"]
    assert counts == [2, 2, 3, 2]


def test_who_writes_is_the_computation_not_how_its_topics_are_reached() -> None:
    """A new password would write the whole result again; so would the same options in another order."""
    reached = {"schema.registry.basic.auth.user.info": "user:old", "Kafka.client.id": "one"}
    step = to_topic("source", "target")
    ids = {"source": "a", "target": "b"}

    def written_by(**given: Any) -> str:
        (read,) = step.inputs
        return application_id(replace(step, inputs=[replace(read, **given)]), ids)

    same = [
        written_by(options={"sep": ";", "header": "true", **reached}),
        written_by(options={"Header": "true", "sep": ";", "schema.registry.basic.auth.user.info": "user:new"}),
    ]
    others = [written_by(options={"sep": ","}), written_by(schema="n INT"), written_by(table="u")]
    others += [application_id(step, {**ids, "target": "c"}), application_id(replace(step, sql="SELECT 1"), ids)]
    assert len(set(same)) == 1
    assert len({*same, *others}) == 6


def test_console_shows_first_rows_and_counts_all(
    engine: SparkStepEngine, history: Any, source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT CAST(value AS STRING) AS word FROM t ORDER BY word"
    step = Step("words", [StepInput("t", source)], "", sql, output_format="console", output_options={"numRows": "1"})

    rows = engine.run(step, history.bounds(source))

    shown = capfd.readouterr()
    assert (rows, shown.out) == (2, "")
    assert "-- words\nword=a\n... 1 more\n" in shown.err


def test_csv_options_say_how_values_are_written(engine: SparkStepEngine, history: Any, tmp_path: Path) -> None:
    """From the pipeline file: a header line is no row, wherever it stands."""
    topic = history.topic()
    history.commit(topic, [b'"id";"name"', b'1;"a;b"', b"id;name", b"2;-"])
    options = '{ header = true, delimiter = ";", nullValue = "-" }'
    (tmp_path / "flow.toml").write_text(
        f"""
        [[steps]]
        name = "csv"
        inputs.t = {{ topic = "{topic}", format = "csv", schema = "id INT, name STRING", options = {options} }}
        sql = "SELECT id, name FROM t ORDER BY id"
        output = {{ path = "out", format = "json" }}
        """
    )
    pipeline = load_with_problems(tmp_path / "flow.toml")
    assert pipeline.problems == ()

    rows = engine.run(pipeline.steps[0], history.bounds(topic))

    (written,) = (tmp_path / "out").glob("part-*.json")
    assert written.read_text().splitlines() == ['{"id":1,"name":"a;b"}', '{"id":2}']
    assert rows == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"options": {"header": "yes"}}, "option header of input t must be true or false, not yes"),
        ({"options": {"sep": ";", "delimiter": ";"}}, "the options sep and delimiter, which are one"),
        ({"options": {"delimiter": ""}}, "option delimiter of input t is empty"),
    ],
)
def test_wrong_csv_options_are_found_without_spark(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    step = Step("s", [StepInput("t", "t", "csv", "id INT", **given)], "out", sql="SELECT 1")

    (problem,) = SparkStepEngine.problems([step], str(tmp_path))

    assert said in problem.what


def test_wrong_console_options_are_found_without_spark(tmp_path: Path) -> None:
    step = Step("s", [StepInput("t", "t")], "", "SELECT 1", output_format="console", output_options={"numRows": "all"})

    (problem,) = SparkStepEngine.problems([step], str(tmp_path))

    assert problem.what == "output option numRows must be a whole number, not all"


def test_jars_of_spark_defaults_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    said = missing_jar("spark-sql-kafka-0-10", "org:spark-sql-kafka-0-10_2.13:VERSION")

    (tmp_path / "spark-defaults.conf").write_text("spark.jars.packages org:spark-sql-kafka-0-10_2.13:4.0.0\n")

    assert said is not None
    assert "set spark.jars.packages to org:spark-sql-kafka-0-10_2.13:4." in said
    assert missing_jar("spark-sql-kafka-0-10", "") is None
