"""SQL is parsed by Spark's parser before anything starts, without a session."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eosfw.protocols import Step, StepInput
from eosfw_spark.steps import sql_syntax
from eosfw_spark.steps.checks import step_problems
from eosfw_spark.steps.sql_syntax import syntax_errors

pytestmark = pytest.mark.spark

SOUND = ["SELECT city, count(*) AS n FROM orders GROUP BY city", "SELECT `a b`, x -> x FROM t -- why not"]
BROKEN = "SELECT city FROM orders\nGROUP city"


def test_a_statement_that_does_not_parse_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a JVM of its own, whatever session another test left."""
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)

    *sound, broken = syntax_errors([*SOUND, BROKEN])

    assert sound == [None, None]
    assert broken is not None
    assert broken.startswith("Syntax error at or near 'city'")
    assert "line 2" in broken
    assert "\n" not in broken


def test_a_running_spark_session_is_used_to_parse_sql(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark.getActiveSession() is not None

    def refuse() -> None:
        raise AssertionError("a second JVM")

    monkeypatch.setattr(sql_syntax, "_bare_jvm", refuse)

    assert [error is None for error in syntax_errors([SOUND[0], BROKEN])] == [True, False]


def test_a_step_whose_sql_does_not_parse_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Step("by-city", [StepInput("orders", "orders")], "out", sql=BROKEN)
    monkeypatch.setattr("eosfw_spark.steps.checks.syntax_errors", lambda statements: ["no" for _ in statements])

    assert [str(one) for one in step_problems([step], str(tmp_path))] == ["step by-city: its sql does not parse: no"]


def test_a_jvm_that_does_not_start_is_reported_by_the_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, "pyspark.sql", raising=False)

    assert syntax_errors([BROKEN]) == [None]
