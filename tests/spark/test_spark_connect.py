"""Spark Connect, whose programs hold no Spark, reads and writes as other programs do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

from eosfw.concurrency import ThreadRuntime
from pytest_eos.contracts.backends.harness import BackendHarness
from pytest_eos.environment.config.installed_plugins import installed_plugins

PROGRAM = Path(__file__).with_name("spark_connect_program.py")


@pytest.mark.ci
@pytest.mark.timeout(900)
def test_a_program_of_spark_connect_writes_and_reads_each_row_once(
    java: None, unavailable: Callable[[str, str], NoReturn], embedded: str, tmp_path: Path
) -> None:
    if find_spec("grpc") is None:
        unavailable("spark", "Spark Connect needs grpcio: pip install 'pyspark[connect]'")
    backend = installed_plugins().backend("confluent").connect({"bootstrap.servers": embedded}, ThreadRuntime())
    topics = BackendHarness(backend, ThreadRuntime())
    (tmp_path / "input").mkdir()
    for name, lines in {"1": "d\ne\n", "2": "f\n"}.items():
        (tmp_path / "input" / f"{name}.txt").write_text(lines)

    ended = subprocess.run(
        [sys.executable, PROGRAM, embedded, tmp_path, topics.topic(2), topics.topic(2)],
        env=dict(os.environ, PYSPARK_PYTHON=sys.executable),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, "\n".join(line for line in ended.stderr.splitlines() if "\tat " not in line)
    assert json.loads(ended.stdout.splitlines()[-1]) == {
        "session": "pyspark.sql.connect.session",
        "batch": ["a", "b", "c"],
        "stream": ["d", "e", "f"],
        "seen": ["d", "e", "f"],
        "batches": True,
    }
