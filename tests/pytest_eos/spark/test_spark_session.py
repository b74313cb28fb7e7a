"""Spark starts for tests that ask for it, once per process, and says what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_eos.runs.queries.spark import cores

pytestmark = [pytest.mark.spark, pytest.mark.ci, pytest.mark.timeout(600)]

ASKS = """
def test_asks(eos_spark):
    assert eos_spark.range(3).count() == 3
"""
DOES_NOT = """
import sys

def test_does_not_ask(eos):
    assert "pyspark" not in sys.modules
"""
RECORDS = """
import os, pathlib, pytest

@pytest.mark.parametrize("turn", range(4))
def test_it(eos_spark, turn):
    jvm = eos_spark.sparkContext._gateway.proc.pid
    pathlib.Path(f"{turn}.told").write_text(f"{os.getpid()} {jvm}")
"""


def run(folder, test, *arguments, **environment):
    """Run a test file in a pytest of its own; return its status and what it said."""
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "pytest.ini", *arguments, "test_it.py"]
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False, timeout=150
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("lacking", ["path", "home"])
def test_without_java_a_test_skips_with_the_remedy(tmp_path, lacking):
    """Bad input: no Java for real. Skipped with what to do, in the summary, too."""
    bare = {"PATH": str(tmp_path)} | ({"JAVA_HOME": str(tmp_path)} if lacking == "home" else {})

    status, message = run(tmp_path, ASKS, **bare)

    why = f"JAVA_HOME={tmp_path} holds no bin/java" if lacking == "home" else "there is no java on PATH"
    assert status == 0
    assert "1 skipped" in message
    assert f"skipped: Spark needs Java 17 or later, but {why}" in message
    assert "install a JDK 17 or newer, or point JAVA_HOME at one" in message


def test_spark_is_not_even_loaded_for_a_test_that_does_not_ask(tmp_path):
    """Lazy: a run without `eos_spark` needs no Java, and waits for none."""
    status, message = run(tmp_path, DOES_NOT, PATH=str(tmp_path))

    assert status == 0, message


def test_each_process_of_xdist_has_one_session_of_its_own(tmp_path):
    """xdist-safe: two JVMs side by side, no port in common, both gone afterwards, and so are their files."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    status, message = run(tmp_path, RECORDS, "-n2", "--dist=load", TMPDIR=str(temporary))

    assert status == 0, message
    reported = [file.read_text().split() for file in tmp_path.glob("*.told")]
    workers, machines = {worker for worker, _ in reported}, {jvm for _, jvm in reported}
    assert len(reported) == 4
    assert len(workers) == len(machines) == len({tuple(one) for one in reported}) == 2
    assert not any(Path(f"/proc/{jvm}/cmdline").exists() for jvm in machines)
    assert [entry.name for entry in temporary.iterdir() if "spark" in entry.name] == []


@pytest.mark.parametrize(("workers", "machine", "share"), [(None, 16, 2), ("2", 2, 1), ("4", 16, 2), ("8", 2, 1)])
def test_sessions_of_xdist_divide_the_cores_of_the_machine(monkeypatch, workers, machine, share):
    """However many workers there are, their sessions use no more cores than there are, or one each."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    if workers is not None:
        monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", workers)

    assert cores(machine) == share
