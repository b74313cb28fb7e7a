"""What a worker knows of a task in another process, and what that process tells it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from clocks import StoppedClock
from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.hosting.connection import Message, TaskConnection
from eosfw.runtime.hosting.hosted_task import Attempt, HostedTask, HostedTaskServices
from eosfw.runtime.hosting.messages import status_to_json
from eosfw.runtime.hosting.task_process import WorkerLogHandler
from eosfw.runtime.hosting.worker_client import WorkerClient
from eosfw.runtime.status import ErrorHandlingMetrics, TaskState, TaskStatus
from eosfw.runtime.tasks.plan import AssignedTask


class LastWords(TaskConnection):
    """A connection whose process has ended, and whose last messages nobody has read yet."""

    def __init__(self, *messages: Message) -> None:
        self._messages = iter(messages)

    def send(self, message: Message) -> None:
        """Nobody hears it."""

    def receive(self) -> Message | None:
        return next(self._messages, None)

    def close(self) -> None:
        """There is no socket."""


def services_of(runtime: Runtime) -> HostedTaskServices:
    """Of a worker that owns its task and listens to nothing."""
    nothing = lambda *_: None  # noqa: E731
    return HostedTaskServices(runtime, nothing, nothing, lambda _: True, nothing, nothing)


@pytest.mark.parametrize("heard", [True, False])
def test_a_job_that_ended_is_judged_by_what_its_process_said_last(*, heard: bool) -> None:
    """The host tells of the end at once; what the process said may still lie in its socket."""
    runtime, task = ThreadRuntime(), AssignedTask(ConnectorTaskId("c", 0), 1, "c-0")
    services = services_of(runtime)
    hosted = HostedTask(task, services, paused=False)
    stopped = status_to_json(TaskStatus(task.id, 1, TaskState.STOPPED))
    words = LastWords(*([{"status": stopped, "ended": True}] if heard else []))
    attempt = Attempt(1, "here", 1, words, 0.0)

    assert hosted.attach(attempt)
    hosted.job_ended(None)
    assert hosted.is_alive()
    hosted.serve(attempt)

    assert hosted.status().state is (TaskState.STOPPED if heard else TaskState.FAILED)
    assert not hosted.is_alive()


def test_a_process_that_is_silent_does_not_count_as_idle() -> None:
    """It may have records: a source that knows no end is drained after so long without them, as the process says."""
    clock, task = StoppedClock(100.0), AssignedTask(ConnectorTaskId("c", 0), 1, "c-0")
    services = services_of(clock)
    hosted = HostedTask(task, services, paused=False)
    attempt = Attempt(1, "here", 1, LastWords(), 0.0)
    idle = TaskStatus(task.id, 1, TaskState.RUNNING, idle_since=100.0)
    assert hosted.attach(attempt)

    hosted._handle(attempt, {"status": status_to_json(idle)})
    clock.at = 160.0
    assert not hosted.status().drained(clock.now(), 5.0)
    hosted._handle(attempt, {})
    assert hosted.status().drained(clock.now(), 5.0)


def test_the_status_says_that_a_process_is_silent_until_it_speaks_again() -> None:
    """One that is stopped, as by SIGSTOP, keeps its connection."""
    clock, task = StoppedClock(100.0), AssignedTask(ConnectorTaskId("c", 0), 1, "c-0")
    hosted = HostedTask(task, services_of(clock), paused=False)
    attempt = Attempt(1, "here", 4711, LastWords(), 0.0)
    clock.at = 130.0  # it had to wait for a process
    assert hosted.attach(attempt)

    hosted._handle(attempt, {"status": status_to_json(TaskStatus(task.id, 1, TaskState.RUNNING))})
    clock.at = 139.0
    assert hosted.status().waiting is None
    clock.at = 145.0
    assert "process 4711 on here has said nothing for 15 s" in str(hosted.status().waiting)
    assert hosted.status().trace == hosted.status().waiting
    hosted._handle(attempt, {})
    assert hosted.status().waiting is None


def test_records_that_a_lost_process_has_dropped_still_count() -> None:
    """MET-01: as its transactions do; who is told of dropped records must not be told of fewer later."""
    runtime, task = ThreadRuntime(), AssignedTask(ConnectorTaskId("c", 0), 1, "c-0")
    hosted = HostedTask(task, services_of(runtime), paused=False)
    for number, last_error in enumerate((20.0, None, 10.0)):
        attempt = Attempt(number, "here", 1, LastWords(), 0.0)
        assert hosted.attach(attempt)
        counts = ErrorHandlingMetrics(errors=2, records_skipped=1, records_filtered=3, last_error=last_error)
        status = TaskStatus(task.id, 1, TaskState.RUNNING, transactions=1, error_handling=counts)
        hosted._handle(attempt, {"status": status_to_json(status)})

    found = hosted.status()
    assert found.transactions == 3
    assert found.error_handling == ErrorHandlingMetrics(
        errors=6, records_skipped=3, records_filtered=9, last_error=20.0
    )


def test_a_process_lets_itself_be_heard_though_nothing_changes() -> None:
    class Recording(LastWords):
        def send(self, message: Message) -> None:
            sent.append(message)

    sent: list[Message] = []
    client = WorkerClient(Recording(), ThreadRuntime())
    idle = TaskStatus(ConnectorTaskId("c", 0), 1, TaskState.RUNNING, idle_since=100.0)
    for metrics in (None, None, ()):
        client.report(idle, metrics)

    assert len(sent) == 2
    assert sent[1] == {}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ([["plugins", "a-total", 3, {"connector": "other", "task": "7", "plugin": "task"}, ""]], [("a-total", 3.0)]),
        ([["plugins", "a-total", "canary", {}, ""]], None),
        ([["plugins"]], None),
        ("canary", None),
    ],
)
def test_metrics_of_a_process_are_of_its_task_alone(sent: Any, kept: Any) -> None:
    """PLG-32: what is no metric ends the connection, and not the worker."""
    runtime, task = ThreadRuntime(), AssignedTask(ConnectorTaskId("c", 0), 1, "c-0")
    measured: list[Any] = []
    keep = lambda *given: measured.append(given)  # noqa: E731
    services = replace(services_of(runtime), measured=keep)
    hosted = HostedTask(task, services, paused=False)
    attempt = Attempt(1, "here", 1, LastWords({"metrics": sent}), 0.0)

    assert hosted.attach(attempt)
    hosted.serve(attempt)

    if kept is None:
        assert measured == []
        return
    ((owner, metrics),) = measured
    assert owner == task.id
    assert [(one.name, one.value) for one in metrics] == kept
    assert {(one.labels["connector"], one.labels["task"]) for one in metrics} == {("c", "0")}


def test_a_line_of_the_log_that_cannot_be_formatted_does_not_fail_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    """As everywhere else in Python, stderr says so."""
    client = WorkerClient(LastWords(), ThreadRuntime())
    record = logging.LogRecord("my.connector", logging.WARNING, "connector.py", 7, "%d records", ("many",), None)

    WorkerLogHandler(client).handle(record)

    assert "Logging error" in capsys.readouterr().err
