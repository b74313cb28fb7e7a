"""`kc` of kafka-connect-py, written for Kafka Connect, works unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .connect_calls import JAVA

KC = Path(sys.executable).with_name("kc")


@pytest.fixture
def kc(worker: str) -> Callable[..., Any]:
    """Run a command of it; what it prints, read as JSON if it is some."""
    return lambda *arguments: run(worker, *arguments)


def run(address: str, *arguments: str, auth: str | None = None) -> Any:
    login = [] if auth is None else ["--auth", auth]
    command = [str(KC), "--url", f"http://{address}", *login, *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    try:
        return json.loads(found.stdout)
    except ValueError:
        return found.stdout.strip()


def until(look: Callable[[], Any], wanted: Any) -> None:
    deadline = time.monotonic() + 60
    while look() != wanted:
        assert time.monotonic() < deadline, f"{look()!r} never became {wanted!r}"


def test_a_session_with_kc(kc, tmp_path):
    """Every command that takes one connector; nothing but `connector.class` was written for this worker."""
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    config = {"connector.class": JAVA, "tasks.max": "1", "file": str(tmp_path / "lines.txt"), "topic": "lines"}

    def state() -> list[str]:
        status = kc("status", "c1")
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]

    assert set(kc("info")) == {"version", "commit", "kafka_cluster_id"}
    listed = {plugin["class"] for plugin in kc("list-plugins") if plugin["type"] == "source"}
    assert "eosfw_file.connector:FileStreamSourceConnector" in listed
    assert kc("create", "-d", json.dumps({"name": "c1", "config": config}))["name"] == "c1"
    until(state, ["RUNNING", "RUNNING"])
    assert kc("list") == ["c1"]
    assert kc("list", "--expand", "status", "--state", "running").keys() == {"c1"}
    assert kc("config", "c1") == config | {"name": "c1"}
    assert kc("update", "c1", "-d", json.dumps(config | {"batch.size": "7"}))["config"]["batch.size"] == "7"
    assert kc("get", "c1")["tasks"] == [{"connector": "c1", "task": 0}]
    assert [task["id"]["task"] for task in kc("list-tasks", "c1")] == [0]
    until(lambda: kc("list-topics", "c1"), {"c1": {"topics": ["lines"]}})
    kc("pause", "c1")
    until(state, ["PAUSED", "PAUSED"])
    kc("resume", "c1")
    until(state, ["RUNNING", "RUNNING"])
    kc("restart", "c1", "--include-tasks")
    until(state, ["RUNNING", "RUNNING"])
    kc("restart-task", "c1", "0")
    until(lambda: kc("task-status", "c1", "0")["state"], "RUNNING")
    kc("delete", "--all")
    until(lambda: kc("list"), [])


def test_kc_logs_in(started, credentials):
    address = started(rest_authentication_file=credentials).url.removeprefix("http://")

    assert run(address, "list", auth="alice:correct horse") == []
    assert "401" in run(address, "list", auth="alice:wrong")
