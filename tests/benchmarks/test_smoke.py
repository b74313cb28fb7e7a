"""Every benchmark still runs: each script, a thousandth of its size, ends with its figures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
SECONDS = 800.0
PARTS = ("benchmark.py", "connect_peer.py", "contenders.py", "debezium_peer.py", "kill_switch.py", "killed_query.py")
"""Modules that the scripts share."""
IN_A_BROWSER = ("console_pictures.py",)
"""Scripts that measure nothing, and need Chromium."""
ON_KAFKA = (
    "commit_overlap.py",
    "connector_rate.py",
    "connector_schemas.py",
    "group_failover.py",
    "postgres_debezium.py",
    "sql_rate.py",
)
BESIDE_SPARKS_OWN = ("spark_micro_batch.py", "spark_read.py", "spark_sink.py")
MARKS = {
    "commit_overlap.py": [pytest.mark.kafka],
    "connector_rate.py": [pytest.mark.kafka, pytest.mark.nightly],  # starts Kafka Connect for each contender
    "connector_schemas.py": [pytest.mark.kafka, pytest.mark.nightly],  # starts what connector_rate.py starts
    "console.py": [pytest.mark.nightly],  # starts three workers and Chromium
    "converter_columns.py": [pytest.mark.kafka],  # asks Kafka Connect's converters in Java
    "crash_states.py": [pytest.mark.nightly],  # tests/broker/storage/test_crash_states.py runs what it runs
    "first_authentication.py": [pytest.mark.kafka],
    "group_failover.py": [pytest.mark.kafka, pytest.mark.nightly],  # starts two groups of three workers
    "group_scale.py": [pytest.mark.nightly],  # starts a group of three workers for each number
    "postgres_debezium.py": [pytest.mark.kafka, pytest.mark.nightly],  # starts Kafka Connect twice
    "secured_broker.py": [pytest.mark.nightly],  # starts a Kafka of its own
    "sql_rate.py": [pytest.mark.kafka, pytest.mark.nightly],  # as long as connector_rate.py, on the same Kafka
    "kfake_peer.py": [pytest.mark.nightly],  # fetches and compiles Go modules
    **{script: [pytest.mark.kafka, pytest.mark.spark] for script in BESIDE_SPARKS_OWN},
    "spark_embedded_read.py": [pytest.mark.spark, pytest.mark.nightly],
    "spark_hosting.py": [pytest.mark.spark, pytest.mark.nightly],  # starts two executor processes
    "spark_kills.py": [pytest.mark.spark, pytest.mark.nightly],
    # spark_read.py starts what they start.
    "spark_micro_batch.py": [pytest.mark.kafka, pytest.mark.spark, pytest.mark.nightly],
    "spark_sink.py": [pytest.mark.kafka, pytest.mark.spark, pytest.mark.nightly],
    "spark_topic_size.py": [pytest.mark.spark, pytest.mark.nightly],  # starts a Kafka of its own
    "test_command.py": [pytest.mark.nightly],  # makes three environments
    "zombie_spark.py": [pytest.mark.spark, pytest.mark.nightly],
}
SCRIPTS = [
    pytest.param(path.name, marks=MARKS.get(path.name, ()))
    for path in sorted(FOLDER.glob("*.py"))
    if path.name not in (*PARTS, *IN_A_BROWSER)
]


def run(script: str, *arguments: str, scale: str = "0.001") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, FOLDER / script, *arguments],
        env={**os.environ, "BENCHMARK_SCALE": scale},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def arguments(script: str, request: pytest.FixtureRequest) -> list[str]:
    """Where a script measures; skips one whose contender is not installed."""
    unavailable = request.getfixturevalue("unavailable")
    if script == "kfake_peer.py" and shutil.which("go") is None:
        unavailable("go", "kfake is built with Go, which is not installed")
    if script.startswith("spark_") or script == "zombie_spark.py":
        try:
            version = metadata.version("pyspark")
        except metadata.PackageNotFoundError:
            unavailable("spark", "PySpark is not installed")
        if script in BESIDE_SPARKS_OWN and not version.startswith("4.0."):
            pytest.skip("the registry holds Spark's own Kafka connector whole for PySpark 4.0 alone")
    if script in BESIDE_SPARKS_OWN:
        return ["--servers", request.getfixturevalue("real_kafka")]
    return ["--bootstrap-servers", request.getfixturevalue("real_kafka")] if script in ON_KAFKA else []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("script", SCRIPTS)
def test_each_script_ends_with_its_figures(script, request):
    done = run(script, *arguments(script, request))

    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found.pop("run")["scale"] == 0.001
    assert found


def test_a_contender_that_does_not_start_ends_a_script_with_one_sentence():
    """No trace, no wait for what never comes."""
    done = run("kfake_peer.py", "--peer", shutil.which("false"))

    assert done.returncode == 1
    [sentence] = done.stderr.splitlines()
    assert sentence.startswith("kfake_peer.py: kfake ended")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("FAILED tests/a.py::test_x[b - c] - assert 0\n  kafka: FAIL code 1\n", ("tests/a.py::test_x[b - c]",)),
        ("ERROR tests/b.py::TestIt::test_y\nFAILED tests/b.py::TestIt::test_y\n", ("tests/b.py::TestIt::test_y",)),
        ("  lint: OK (1.09 seconds)\n  types: FAIL code 1 (43.92 seconds)\n", ("types",)),
        ("  lint: OK (1.09 seconds)\n", ()),
    ],
)
def test_what_failed_in_a_test_run_is_named_by_its_id(monkeypatch, said, found):
    monkeypatch.syspath_prepend(FOLDER)
    from test_command import failures

    assert failures(said) == found


def test_a_failed_contender_is_named_with_its_last_output(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from benchmark import ContenderError
    from contenders import started

    code = "import nothing_like_that"
    failed = pytest.raises(ContenderError, match="the bare loop ended with 1: ModuleNotFoundError")
    with started("the bare loop", sys.executable, "-c", code) as contender, failed:
        contender.finish(60.0)
