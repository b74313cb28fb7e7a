"""A process of Spark stops itself at the step that a test chose; elsewhere nothing happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ConnectorTaskId
from eosfw.observe import StepEvent, TaskStep
from eosfw.registry import load_plugins
from pytest_eos.environment.processes import os_processes
from pytest_eos.environment.processes.batch_gate import MicroBatchGate
from pytest_eos.environment.processes.gate_folder import ArmedGate, GateFolder
from pytest_eos.environment.processes.os_processes import FOLDER_VARIABLE

COMMITS = """
from eosfw.observe import StepEvent, TaskStep
from eosfw.registry import load_plugins

observers = load_plugins().observers()
for batch in range(3):
    for step in (TaskStep.PUBLISH_BATCH, TaskStep.COMMIT_BATCH, TaskStep.COMMITTED_BATCH):
        for observer in observers:
            observer.observe(StepEvent(step, 0.0, 0.0, "query", transaction=batch))
"""


def event(step, batch, *, at=0.0, task=None):
    return StepEvent(step, at, at, "query", None if task is None else ConnectorTaskId("query", task), transaction=batch)


def armed(tmp_path, step, nth, task=None, *, executor=False):
    folder = GateFolder(tmp_path / "gate")
    folder.arm(ArmedGate(step.value, nth, task, executor=executor))
    return folder


@pytest.fixture
def stops(monkeypatch):
    """The signals that a gate in this process would have sent to it."""
    sent = []
    monkeypatch.setattr(signal, "raise_signal", sent.append)
    return sent


@pytest.fixture
def gate(tmp_path, monkeypatch):
    def made(folder):
        monkeypatch.setenv(FOLDER_VARIABLE, str(folder.path))
        return MicroBatchGate()

    return made


def await_true(happened):
    runtime = ThreadRuntime()
    deadline = runtime.now() + 60
    while not happened():
        assert runtime.now() < deadline
        runtime.sleep(0.02)


def test_a_process_stands_still_before_the_step_of_the_nth_batch(tmp_path):
    """A process of its own, found by its plugins alone; it goes on when it is continued."""
    folder = armed(tmp_path, TaskStep.COMMIT_BATCH, 2)
    process = subprocess.Popen([sys.executable, "-c", COMMITS], env={**os.environ, FOLDER_VARIABLE: str(folder.path)})
    try:
        await_true(lambda: folder.reached() is not None and os_processes.has_stopped(process.pid))

        assert folder.reached() == (process.pid,)
        assert [(one.step, one.transaction) for one in folder.events()][-1] == (TaskStep.COMMIT_BATCH, 1)
        assert os_processes.with_variable(FOLDER_VARIABLE, str(folder.path)) == [process.pid]
        os_processes.send(signal.SIGCONT, [process.pid])
        assert process.wait(60) == 0
        assert len(folder.events()) == 9
    finally:
        process.kill()
        process.wait(60)


def test_without_a_test_that_asks_there_is_no_observer(monkeypatch):
    """Inert: in production's processes the hook offers nothing."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert MicroBatchGate.name not in load_plugins().names("observer")

    monkeypatch.setenv(FOLDER_VARIABLE, "somewhere")
    assert MicroBatchGate.name in load_plugins().names("observer")


def test_attempts_of_one_batch_count_once_and_one_process_stops(tmp_path, gate, stops):
    """Two tasks and a second attempt reach the step: the first of the second batch stops, the rest go on."""
    folder = armed(tmp_path, TaskStep.WRITE_BATCH, 2)
    observer = gate(folder)

    for batch, task in ((0, 0), (0, 1), (0, 1)):
        observer.observe(event(TaskStep.WRITE_BATCH, batch, task=task))
    assert stops == []
    for batch, task in ((1, 0), (1, 1), (2, 0)):
        observer.observe(event(TaskStep.WRITE_BATCH, batch, task=task))

    assert stops == [signal.SIGSTOP]
    assert folder.reached() == (os.getpid(),)


@pytest.mark.parametrize(
    ("gated", "passing", "stopped"),
    [
        (
            {"step": TaskStep.READ_BATCH, "nth": 1, "task": 1},
            event(TaskStep.READ_BATCH, 0, task=0),
            event(TaskStep.READ_BATCH, 0, task=1),
        ),
        (
            {"step": TaskStep.PLAN_BATCH, "nth": 2},
            event(TaskStep.PLAN_BATCH, None, at=1.0),
            event(TaskStep.PLAN_BATCH, None, at=2.0),
        ),
        (
            {"step": TaskStep.READ_BATCH, "nth": 1, "executor": True},
            event(TaskStep.READ_BATCH, None),
            event(TaskStep.READ_BATCH, 0, task=0),
        ),
    ],
    ids=["of one task", "each plan counts, as its batch has no number yet", "of an executor: drivers read small ones"],
)
def test_a_gate_lets_others_pass(tmp_path, gate, stops, gated, passing, stopped):
    observer = gate(armed(tmp_path, **gated))

    observer.observe(passing)
    assert stops == []
    observer.observe(stopped)

    assert stops == [signal.SIGSTOP]


def test_a_driver_without_a_gate_keeps_its_steps_alone(tmp_path, gate, stops):
    folder = GateFolder(tmp_path / "gate")
    folder.arm(None)

    gate(folder).observe(event(TaskStep.COMMIT_BATCH, 0))

    assert [one.step for one in folder.events()] == [TaskStep.COMMIT_BATCH]
    assert stops == []
    assert folder.reached() is None
