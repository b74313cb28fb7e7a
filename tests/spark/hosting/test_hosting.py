"""Connectors hosted on Spark: executors and drivers that die, freeze and wake change nothing in what readers see."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from kip98.clients import ClientOnCluster
from pytest_eos.contracts.backends.harness import UNCOMMITTED, BackendHarness

from .hosted_runs import SHORT, HostedRun, descendants, send

CLUSTER = "local-cluster[2,1,1024]"
pytestmark = [pytest.mark.usefixtures("java"), pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


class Pipelines:
    """Runs of one file over one topic, in a folder of their own."""

    def __init__(self, folder: Path, servers: str, fresh: Callable[[str], str]) -> None:
        self._folder, self._servers = folder, servers
        runtime = ThreadRuntime()
        self._lab = BackendHarness(ClientOnCluster("confluent", "").connect(servers, runtime), runtime)
        self.topic, self._group = fresh("hosted"), fresh("group")
        self._runs: list[HostedRun] = []

    def start(self, *arguments: str, master: str = CLUSTER, tasks: int = 2, **connector: int) -> HostedRun:
        """Start a run."""
        file = self._folder / "hosted.toml"
        file.write_text(self._text(tasks, connector))
        run = HostedRun(self._folder, file, "--master", master, *arguments)
        self._runs.append(run)
        return run

    def _text(self, tasks: int, connector: dict[str, int]) -> str:
        worker = {"group.id": self._group, "offset.storage.partitions": "1"}
        worker |= {f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")}
        own = {"connector.class": "waiting", "topic": self.topic, "tasks.max": str(tasks), "eosfw.identity": "value"}
        own |= {name.replace("_", "."): str(number) for name, number in connector.items()}
        sections = {
            "cluster": {"backend": "confluent", "bootstrap.servers": self._servers},
            "worker": worker,
            "connectors.waiting": own,
        }
        return "".join(
            f"[{name}]\n" + "".join(f"{json.dumps(key)} = {json.dumps(text)}\n" for key, text in values.items())
            for name, values in sections.items()
        )

    def records(self) -> int:
        """About how many are written."""
        partitions = self._lab.admin.partitions().get(self.topic, 0)
        return sum(self._lab.end(self.topic, UNCOMMITTED, each) for each in range(partitions))

    def assert_once(self, streams: int, until: int) -> None:
        expected = Counter(b"s%d:%d" % (stream, number) for stream in range(streams) for number in range(until))
        assert Counter(self._lab.values(self.topic)) == expected

    def close(self) -> None:
        for run in self._runs:
            run.close()
        self._lab.close()


@pytest.fixture(params=["embedded"])
def pipelines(request: pytest.FixtureRequest, tmp_path: Path, fresh: Callable[[str], str]) -> Iterator[Pipelines]:
    made = Pipelines(tmp_path, request.getfixturevalue(request.param), fresh)
    yield made
    made.close()


def settings_of(**conf: Any) -> list[str]:
    return [part for name, value in {**SHORT, **conf}.items() for part in ("--conf", f"{name}={value}")]


@pytest.mark.ci
def test_too_few_cores_are_said_before_a_task_starts(pipelines: Pipelines):
    run = pipelines.start(master="local[2]", tasks=4)
    assert run.wait() == 3
    assert "has 4 tasks, which all run at the same time, but there are free cores for 2" in run.log()
    assert "Traceback" not in run.log()


@pytest.mark.ci
@pytest.mark.timeout(1800)
def test_executors_that_die_or_wake_late_repeat_and_lose_nothing(pipelines: Pipelines):
    """F40: the stage starts again without them; Ctrl-C commits what was polled, and the next run goes on from there."""
    run = pipelines.start(*settings_of(), until=4000, wait_ms=40)
    run.until(lambda: pipelines.records() > 100, "the first records")
    run.until(lambda: len(run.executors()) == 2, "two executors")
    killed = run.executors().pop()
    send(killed, signal.SIGKILL)
    run.until(lambda: len(run.executors() - {killed}) == 2, "an executor in place of the killed one")
    before = pipelines.records()
    run.until(lambda: pipelines.records() > before + 100, "records of the tasks that started again")

    # Its Python processes go on, cut off from Spark, until Spark ends the executor: zombies beside their successors.
    frozen = run.executors().pop()
    send(frozen, signal.SIGSTOP)
    run.until(lambda: len(run.executors() - {frozen}) == 2, "an executor in place of the frozen one")
    before = pipelines.records()
    run.until(lambda: pipelines.records() > before + 100, "the successors' records")
    send(frozen, signal.SIGCONT)
    run.interrupt()
    assert run.wait() == 130, run.log()
    assert "Traceback" not in run.log()

    rest = pipelines.start("--verify", master="local[2]", until=4000, wait_ms=1)
    assert rest.wait() == 0, rest.log()
    assert (rest.summary()["duplicates"], rest.summary()["missing"]) == (0, 0)
    pipelines.assert_once(4, 4000)


@pytest.mark.kafka
@pytest.mark.nightly
@pytest.mark.parametrize("pipelines", ["real_kafka"], indirect=True)
def test_an_executor_that_dies_changes_nothing_on_a_real_kafka(pipelines: Pipelines):
    """F40: its tasks start again on another one, which fences their ids at the real coordinators."""
    run = pipelines.start("--verify", *settings_of(), until=3000, wait_ms=40)
    run.until(lambda: pipelines.records() > 100, "the first records")
    run.until(lambda: len(run.executors()) == 2, "two executors")
    killed = run.executors().pop()
    send(killed, signal.SIGKILL)
    run.until(lambda: len(run.executors() - {killed}) == 2, "an executor in place of the killed one")

    assert run.wait() == 0, run.log()
    assert (run.summary()["duplicates"], run.summary()["missing"]) == (0, 0)
    pipelines.assert_once(4, 3000)


@pytest.mark.nightly
def test_a_second_driver_of_one_file_supersedes_the_first(pipelines: Pipelines):
    """Though the first, frozen with its tasks, wakes; a third goes on where a killed driver ended."""
    first = pipelines.start(master="local[2]", until=2000, wait_ms=40)
    first.until(lambda: pipelines.records() > 100, "the first records")
    frozen = [first.pid, *descendants(first.pid)]
    for pid in frozen:
        send(pid, signal.SIGSTOP)
    second = pipelines.start(master="local[2]", until=2000, wait_ms=40)
    before = pipelines.records()
    second.until(lambda: pipelines.records() > before + 100, "the second driver's records")
    for pid in frozen:
        send(pid, signal.SIGCONT)
    assert first.wait() == 5, first.log()
    second.kill()
    third = pipelines.start(master="local[2]", until=2000, wait_ms=1)
    assert third.wait() == 0, third.log()
    pipelines.assert_once(4, 2000)


@pytest.mark.nightly
def test_an_executor_without_the_packages_is_named(pipelines: Pipelines):
    bare = str(Path(sys.executable).resolve())  # the interpreter below the virtual environment
    conf = {"spark.pyspark.python": bare, "spark.python.daemon.module": "pyspark.daemon"}
    run = pipelines.start(*settings_of(**conf), master="local[2]")
    assert run.wait() == 3, run.log()
    assert "the executor on" in run.log()
    assert "has no eosfw" in run.log()
    assert "Traceback" not in run.log()
