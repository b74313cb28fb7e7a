"""`eosfw doctor` is told whether Spark could start, without starting it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eosfw.health import Finding, Health
from eosfw_spark import java
from eosfw_spark.steps.engine import SparkStepEngine


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with one good Java, no variables of Spark."""
    for name in ("SPARK_HOME", "PYSPARK_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    program(tmp_path / "bin" / "java", "echo 'openjdk version \"17.0.15\"' >&2")
    return tmp_path


def program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def found() -> dict[str, Finding]:
    return {finding.subject: finding for finding in SparkStepEngine.health()}


def test_a_machine_that_can_run_spark_is_fine(machine: Path) -> None:
    assert {one.health for one in found().values()} == {Health.FINE}
    assert found()["Java"].found == f"17.0.15 at {machine}/bin/java, by JAVA_HOME"
    assert sys.executable in found()["Python workers"].found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo 'openjdk version \"11.0.2\"'", "is version 11.0.2"),
        ("echo 'java version \"1.8.0_402\"'", "is version 1.8.0_402"),
        ("echo nonsense", "does not say its version"),
        ("exit 3", "does not say its version"),
        ("printf '\\377\\376'", "does not say its version"),
    ],
)
def test_an_unusable_java_is_reported_with_its_remedy(machine: Path, text: str, message: str) -> None:
    program(machine / "bin" / "java", text)

    assert found()["Java"].health is Health.BROKEN
    assert message in found()["Java"].found
    assert "JDK 17" in found()["Java"].remedy


@pytest.mark.parametrize("text", ["exec sleep 600", "sleep 20 & wait"], ids=["itself", "a child"])
def test_a_java_that_hangs_is_not_waited_for(machine: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Also where what it started keeps its output open."""
    program(machine / "bin" / "java", text)
    monkeypatch.setattr(java, "ANSWER", 0.2)

    assert "does not say its version" in found()["Java"].found


def test_a_spark_home_without_spark_is_reported(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(machine))
    assert (found()["SPARK_HOME"].health, found()["SPARK_HOME"].remedy) == (Health.BROKEN, "unset SPARK_HOME")

    program(machine / "bin" / "spark-submit", "exit")
    assert found()["SPARK_HOME"].health is Health.FINE


def test_workers_that_could_not_start_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "no-such-python")
    assert found()["Python workers"].remedy == f"export PYSPARK_PYTHON={sys.executable}"

    monkeypatch.setattr(sys, "executable", "")
    assert found()["Python workers"].health is Health.BROKEN
