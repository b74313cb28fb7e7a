"""What `deploy/` has is run as it stands, without an engine: its commands, its properties, its signal."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.registry import load_plugins

DEPLOY = Path(__file__).parents[2] / "deploy"
CONTAINERFILE, UNIT, KUBERNETES, PROPERTIES = (
    (DEPLOY / name).read_text(encoding="utf-8")
    for name in ("Containerfile", "eosfw-worker.service", "kubernetes.yaml", "worker.properties")
)
FILE = "/etc/eosfw/worker.properties"
"""Where all of them expect it."""


def listed(pattern: str, text: str) -> list[str]:
    """The words of a command that is written as a list."""
    (found,) = re.findall(rf"{pattern}(\[.*?\])$", text, re.MULTILINE)
    words: list[str] = json.loads(found)
    return words


COMMANDS = {
    "image": listed("^ENTRYPOINT ", CONTAINERFILE) + listed("^CMD ", CONTAINERFILE),
    "kubernetes": listed(r"^ +command: (?=..eosfw., .worker)", KUBERNETES) + listed(r"^ +args: ", KUBERNETES),
    "systemd": re.findall("^ExecStart=/opt/eosfw/bin/(.*)$", UNIT, re.MULTILINE)[0].split(),
}
PROBES = {
    "image": listed("^    CMD ", CONTAINERFILE),
    "kubernetes": listed(r"^ +command: (?=..eosfw., .connectors)", KUBERNETES),
}


@pytest.fixture
def cluster_address():
    """Of an embedded broker."""
    cluster = load_plugins().cluster("memory").start({}, ThreadRuntime())
    yield cluster.bootstrap_servers
    cluster.close()


@pytest.fixture
def etc(tmp_path, monkeypatch):
    """A folder as `/etc/eosfw`, the token of a probe in the environment, and a port of its own for each worker."""
    made = subprocess.run(
        [sys.executable, "-m", "eosfw_rest.credentials", "--bearer", "probe"],
        capture_output=True,
        text=True,
        check=True,
    )
    (tmp_path / "rest.credentials").write_text(made.stdout)
    monkeypatch.setenv("EOSFW_REST_TOKEN", made.stderr.split()[-1])
    own = {
        "/etc/eosfw": str(tmp_path),
        "http://0.0.0.0:8083": "http://0.0.0.0:0",
        "backend=confluent": "backend=memory",
    }
    text = PROPERTIES
    for shipped, here in own.items():
        assert shipped in text
        text = text.replace(shipped, here)
    (tmp_path / "worker.properties").write_text(text)
    return tmp_path


@pytest.mark.parametrize("command", sorted({tuple(words) for words in COMMANDS.values()}), ids=" ".join)
def test_a_deployed_worker_gets_ready_and_leaves_on_sigterm(start, cluster_address, etc, monkeypatch, command) -> None:
    """The probe fails before, succeeds with a token alone, and the exit code of a stop is 0."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", cluster_address)
    monkeypatch.setenv("EOSFW_HOST", "127.0.0.1")
    (probe,) = {tuple(words) for words in PROBES.values()}
    monkeypatch.setenv("EOSFW_REST_URL", "http://127.0.0.1:1")
    assert start(*probe[1:]).end() == 6

    worker = start(*(word.replace(FILE, str(etc / "worker.properties")) for word in command[1:]))
    worker.until(lambda: "leads the group" in worker.out())
    url = re.search(r"REST interface at (http://127\.0\.0\.1:\d+)", worker.out())
    assert url is not None
    monkeypatch.setenv("EOSFW_REST_URL", url[1])
    worker.until(lambda: start(*probe[1:]).end() == 0)
    monkeypatch.delenv("EOSFW_REST_TOKEN")
    assert start(*probe[1:]).end() == 3

    worker.send(signal.SIGTERM)
    assert worker.end() == 0, worker.err()


def test_a_worker_that_finds_no_cluster_is_started_until_it_does(start, etc, monkeypatch) -> None:
    """It ends with an exit code for which systemd starts it again, however often."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("EOSFW_HOST", "127.0.0.1")
    (excluded,) = re.findall("^RestartPreventExitStatus=(.*)$", UNIT, re.MULTILINE)

    assert start("worker", str(etc / "worker.properties")).end() == 6
    assert "6" not in excluded.split()
    assert "\nRestart=on-failure\n" in UNIT
    assert "\nStartLimitIntervalSec=0\n" in UNIT


def test_all_wait_longer_for_a_worker_than_it_waits_for_its_tasks() -> None:
    """Else a kill would cut off what the tasks are about to commit."""
    graceful = int(re.findall(r"^task.shutdown.graceful.timeout.ms=(\d+)$", PROPERTIES, re.MULTILINE)[0]) / 1000
    systemd = int(re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)[0])
    kubernetes = int(re.findall(r"terminationGracePeriodSeconds: (\d+)$", KUBERNETES, re.MULTILINE)[0])

    assert graceful + 10 < min(systemd, kubernetes)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze to read a unit")
def test_systemd_understands_the_unit(tmp_path) -> None:
    """With a program that is there."""
    unit = tmp_path / "eosfw-worker.service"
    unit.write_text(UNIT.replace("/opt/eosfw/bin/eosfw", sys.executable).replace("/etc/eosfw/environment", os.devnull))

    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
