"""What is found wrong with steps before Spark starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from eosfw.protocols import Step, StepInput
from eosfw_spark.java import java_problem
from eosfw_spark.steps import checks
from eosfw_spark.steps.engine import SparkStepEngine
from eosfw_spark.steps.schemas import columns

NO_URL = {"schema.registry.timeout": "5"}
INPUT = StepInput("t", "topic")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(checks, "java_problem", lambda: None)
    monkeypatch.setattr(checks, "syntax_errors", lambda statements: [None] * len(statements))
    (tmp_path / "good_steps.py").write_text("def total(t):\n    return t\n\ndef other(x):\n    return x\n")
    (tmp_path / "bad_steps.py").write_text("raise RuntimeError('at import')\n")
    (tmp_path / "leaving_steps.py").write_text("import sys\nsys.exit('no luck')\n")
    yield str(tmp_path)
    for name in ("good_steps", "bad_steps", "leaving_steps"):
        sys.modules.pop(name, None)


def problems(folder: str, *steps: Step) -> list[str]:
    return [str(each) for each in SparkStepEngine.problems(steps, folder)]


def test_good_steps_have_no_problem(folder: str) -> None:
    typed = StepInput("t", "topic", "json", "id BIGINT, name STRUCT<a: INT, b: STRING>")
    rows = StepInput("t", "topic", "csv", "id DECIMAL(3, 1), structure STRING")
    steps = [Step("a", [INPUT], "a", function="good_steps:total")]
    served = StepInput("t", "topic", "avro", options={"schema.registry.url": "http://h"})
    steps += [Step("d", [StepInput("t", "topic", "json")], "d", sql="x"), Step("e", [served], "e", sql="x")]
    steps += [Step("b", [typed], "b", sql="x"), Step("c", [rows], "c", sql="x")]

    assert problems(folder, *steps) == []


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step("a", [], "out", sql="x"), "step a: has no input"),
        (Step("a", [INPUT, INPUT], "out", sql="x"), "step a: 2 inputs are called t"),
        (Step("a", [INPUT], "out"), "step a: needs either sql or function"),
        (Step("a", [INPUT], "out", sql="x", function="good_steps:total"), "needs either sql or function, not both"),
        (Step("a", [INPUT], "out", sql="  "), "step a: its sql is empty"),
        (
            Step("a", [INPUT], "out", sql="x", output_format="topic", trigger="1 second", output_mode="update"),
            'step a: Spark does not write output mode "update" into topic out; take "complete"',
        ),
        (Step("a", [INPUT], "out", function="total"), "function total: function 'total' is not written as module:name"),
        (Step("a", [INPUT], "out", function="no_steps:f"), "function no_steps:f: No module named 'no_steps'"),
        (Step("a", [INPUT], "out", function="good_steps:f"), "module good_steps has no function 'f'"),
        (Step("a", [INPUT], "out", function="bad_steps:f"), "cannot be imported: RuntimeError: at import"),
        (Step("a", [INPUT], "out", function="leaving_steps:f"), "cannot be imported: SystemExit: no luck"),
        (Step("a", [INPUT], "out", function="good_steps:other"), "cannot be called with the tables t"),
        (Step("a", [INPUT], ".", sql="x"), "would replace the folder of the pipeline itself"),
        (Step("a", [INPUT], "..", sql="x"), "would replace the folder of the pipeline itself"),
        (Step("a", [INPUT], "good_steps.py", sql="x"), "is a file; name a folder"),
        (Step("a", [StepInput("a b", "t")], "out", sql="x"), "'a b' cannot name a table"),
        (Step("a", [StepInput("t", "t", "jsn", "a INT")], "out", sql="x"), "format 'jsn'; with a schema"),
        (Step("a", [StepInput("t", "t", "csv")], "out", sql="x"), "has a format but no schema"),
        (Step("a", [StepInput("t", "t", None, "a INT")], "out", sql="x"), "has no format; with a schema"),
        (Step("a", [StepInput("t", "t", "csv", "a INT, b array<INT>")], "out", sql="x"), "a CSV row cannot hold: b"),
        (Step("a", [StepInput("t", "t", "json", "a")], "out", sql="x"), "'a' is not a column; write NAME TYPE"),
        (Step("a", [StepInput("t", "t", "json", "a INT, Key INT, A INT")], "out", sql="x"), "Kafka's: Key, A"),
        (
            Step("a", [StepInput("t", "t", "json", "a VARIANT")], "out", sql="x"),
            "of input t: has the type VARIANT, which",
        ),
        (Step("a", [StepInput("t", "t", "avro")], "out", sql="x"), "value.format is avro without a schema: give value"),
        (
            Step("a", [StepInput("t", "t", "json", options={"mode": "x"})], "out", sql="x"),
            "option mode must be failfast",
        ),
        (Step("a", [StepInput("t", "t", "json", options=NO_URL)], "out", sql="x"), "registry.url is missing; give the"),
    ],
)
def test_a_problem_names_its_step(folder: str, step: Step, message: str) -> None:
    found = problems(folder, step)

    assert len(found) == 1
    assert message in found[0]
    assert found[0].startswith("step a: ")


def test_sparks_own_reader_leaves_formats_of_schemas_alone(folder: str) -> None:
    """CNV-38."""
    step = Step("a", [StepInput("t", "t", "avro", "{}", "spark-kafka")], "out", sql="x")

    assert any("is decoded by eosfw's own reader alone: leave out reader" in each for each in problems(folder, step))


def test_a_folder_with_foreign_files_is_never_replaced(folder: str) -> None:
    (Path(folder) / "out").mkdir()
    (Path(folder) / "out" / "thesis.txt").write_text("years of work")

    (found,) = problems(folder, Step("a", [INPUT], "out", sql="x"))

    assert "holds thesis.txt, which no step wrote" in found


def test_no_two_steps_share_an_output(folder: str) -> None:
    steps = [
        Step("a", [INPUT], "out", sql="x"),
        Step("b", [INPUT], "out/b", sql="x"),
        Step("c", [INPUT], "out", sql="x"),
    ]

    assert len(problems(folder, *steps)) == 3


def test_a_pipeline_without_steps_needs_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    assert problems(str(tmp_path)) == []


# --- Java


def test_commands_that_load_the_engine_load_no_spark() -> None:
    """They would take half a second longer, each time."""
    program = "import sys, eosfw_spark.hooks; print(*{'pyspark', 'pyarrow'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout.split() == []


def test_a_missing_java_is_reported_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    assert java_problem() == (
        "Spark needs Java 17 or later, but there is no java on PATH, and JAVA_HOME is not set: "
        "install a JDK 17 or newer, or point JAVA_HOME at one"
    )


def test_a_schema_is_cut_at_its_own_commas_alone() -> None:
    assert columns("a INT, `b c` DECIMAL(10,2), d: MAP<STRING, INT>") == [
        ("a", "INT"),
        ("b c", "DECIMAL(10,2)"),
        ("d", "MAP<STRING, INT>"),
    ]
