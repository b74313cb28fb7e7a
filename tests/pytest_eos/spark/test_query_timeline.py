"""The steps that drivers wrote down become lanes of a test's timeline."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import StepEvent, TaskStep
from pytest_eos.environment.config.markers import EXECUTOR, FREEZE, ZombieSpec
from pytest_eos.environment.processes.gate_folder import GateFolder
from pytest_eos.runs.queries.process import QueryProcess, QuerySpec
from pytest_eos.runs.queries.runs import QueryRuns
from pytest_eos.runs.queries.timeline import query_events, query_freezes


def driver(folder: Path, at: float, error: str | None) -> QueryProcess:
    """A driver that has ended, without its process."""
    made = object.__new__(QueryProcess)
    made._folder = GateFolder(folder)
    made._folder.arm(None)
    made._spec = QuerySpec("queries:copy", {}, "checkpoint", {})
    made.killed, made._frozen_at, made._woken_at = False, at, at + 5
    made._folder.keep(StepEvent(TaskStep.COMMIT_BATCH, at, 1.7e9, "an-id", transaction=2, detail={"pid": 7}))
    made._folder.write("reached", {"pids": [7]})
    made._folder.write("ended", {"error": error})
    return made


def test_each_driver_of_a_checkpoint_is_a_generation_of_its_query(tmp_path: Path) -> None:
    drivers = [driver(tmp_path / "1", 1.0, "the producer was fenced"), driver(tmp_path / "2", 2.0, None)]

    events = query_events(drivers)

    assert [(event.connector, event.generation, event.step) for event in events] == [
        ("queries:copy", 0, TaskStep.COMMIT_BATCH),
        ("queries:copy", 1, TaskStep.COMMIT_BATCH),
        ("queries:copy", 0, TaskStep.FENCED),
    ]
    assert [(one.event.generation, one.since, one.until) for one in query_freezes(drivers)] == [
        (0, 1.0, 6.0),
        (1, 2.0, 7.0),
    ]


def test_an_error_other_than_fencing_is_drawn_as_a_failure(tmp_path: Path) -> None:
    events = query_events([driver(tmp_path / "1", 1.0, "the topic is gone")])

    assert events[-1].step is TaskStep.FAILED


def test_a_driver_that_ends_for_another_reason_counts_as_no_fencing(tmp_path: Path) -> None:
    """Neither in the summary nor in a certificate: what the cluster refused is said of nothing else."""
    refused, gone = driver(tmp_path / "1", 1.0, "the producer was fenced"), driver(tmp_path / "2", 1.0, "no topic")

    assert (refused.fenced, gone.fenced) == (True, False)


def test_a_fenced_driver_that_finds_its_batch_published_counts_as_fenced(tmp_path: Path) -> None:
    """Its query goes on with that, and ends when Spark's own log refuses it."""
    skipped = driver(tmp_path / "1", 1.0, "Multiple streaming jobs detected for 2")
    detail = {"pid": 7, "outcome": "skipped", "fencings": 1}
    skipped._folder.keep(StepEvent(TaskStep.COMMITTED_BATCH, 6.5, 1.7e9, "an-id", transaction=2, detail=detail))

    assert skipped.fenced


def test_a_driver_that_goes_on_when_woken_is_drawn_frozen_before_its_gate(tmp_path: Path) -> None:
    woken = driver(tmp_path / "1", 1.0, None)
    woken._folder.keep(StepEvent(TaskStep.COMMITTED_BATCH, 6.5, 1.7e9, "an-id", transaction=2, detail={"pid": 7}))

    (freeze,) = query_freezes([woken])

    assert (freeze.event.step, freeze.since, freeze.until) == (TaskStep.COMMIT_BATCH, 1.0, 6.0)


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[Any]:
    """A driver whose task was woken in another process, which is still there."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        made = driver(tmp_path / "1", 1.0, None)
        made._eos = SimpleNamespace(runtime=ThreadRuntime())  # type: ignore[assignment]
        made._folder.write("reached", {"pids": [process.pid]})
        yield SimpleNamespace(process=process, driver=made)
        process.kill()


def seconds(executor: Any, grace: float) -> float:
    """How long a test waits for it."""
    runtime = ThreadRuntime()
    began = runtime.now()
    executor.driver.await_gone_on(grace)
    return runtime.now() - began


def test_a_woken_executor_is_given_the_time_to_do_harm(executor: Any) -> None:
    """Its next step tells that it went on, and so does its end; otherwise it is not waited for without end."""
    assert seconds(executor, 0.3) >= 0.3

    event = StepEvent(TaskStep.STAGED_BATCH, 6.5, 1.7e9, "an-id", detail={"pid": executor.process.pid})
    executor.driver._folder.keep(event)

    assert seconds(executor, 60) < 10


def test_an_executor_that_has_ended_is_not_waited_for(executor: Any) -> None:
    executor.process.kill()

    assert seconds(executor, 60) < 10


def test_a_query_ends_only_after_its_executor_has_gone_on() -> None:
    """Its driver ends the executors, and with them a zombie that has not had its turn."""
    calls: list[str] = []

    class Driver:
        def __getattr__(self, name: str) -> Any:
            return lambda: calls.append(name) or self

    QueryRuns._replace_executor(Driver(), ZombieSpec(TaskStep.WRITE_BATCH, 1, None, EXECUTOR, FREEZE))  # type: ignore[arg-type]

    assert calls == ["await_frozen", "await_ended", "wake", "await_gone_on"]
