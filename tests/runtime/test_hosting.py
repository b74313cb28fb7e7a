"""Tasks in other processes: the worker leads, fencing keeps every record once, whatever dies or wakes."""

from __future__ import annotations

import errno
import json
import logging
import os
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest

from eosfw.concurrency import Queue, Runtime, ThreadRuntime
from eosfw.errors import ConfigError, DamagedDataError, ExitCode, Problem, StepFailedError, TaskFailedError
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.hosting import connection, task_server
from eosfw.runtime.hosting.connection import ConnectionLostError, Message, TaskConnection
from eosfw.runtime.hosting.hosted_task import Attempt, HostedTask, HostedTaskServices
from eosfw.runtime.hosting.messages import error_from_json, error_to_json, status_to_json
from eosfw.runtime.hosting.task_process import WorkerLogHandler
from eosfw.runtime.hosting.task_server import TaskServer
from eosfw.runtime.hosting.worker_client import WorkerClient
from eosfw.runtime.status import TaskState, TaskStatus
from eosfw.runtime.tasks.plan import AssignedTask

from .counting import expected
from .hosting_harness import HostedHarness
from .scripted_task import Scripted, batch, scripted
from .worker_harness import connector_of


class Held:
    """Holds up the first call of a kind by one thread until it is released."""

    def __init__(self, stage: HostedHarness, call: str, transactional_id: str) -> None:
        self._wanted = (call, transactional_id)
        self.reached, self._released = threading.Event(), threading.Event()
        stage.cluster.before = self._before

    def _before(self, call: str, transactional_id: str | None) -> None:
        if (call, transactional_id) == self._wanted and not self.reached.is_set():
            self.reached.set()
            self._released.wait(30)

    def release(self) -> None:
        self._released.set()


def test_hosted_tasks_commit_every_record_once():
    with HostedHarness() as stage:
        stage.put("c", streams="4", until="50", tasks_max="4")
        stage.until_drained()
        status = stage.worker.status()
    assert sorted(stage.cluster.committed("t")) == expected(4, 50)
    assert (status.records, len(status.tasks)) == (200, 4)
    assert stage.history.records == 200
    assert stage.hosted_steps.count("request-fencing") == 4
    assert "nowhere" not in repr(stage.host.jobs[0]), "no address, since there might be a secret beside it"
    assert [task.state for task in stage.worker.status().tasks] == [TaskState.STOPPED] * 4


def test_a_process_that_replaces_a_frozen_one_repeats_nothing():
    with HostedHarness() as stage:
        held = Held(stage, "commit", "g-c-0")
        stage.put("c", until="50")
        assert held.reached.wait(30)
        stage.host.start(0)
        stage.until_drained()

        held.release()
        stage.until(lambda: "superseded" in stage.hosted_steps, "the end of the frozen process")
        assert stage.worker.status().tasks[0].state is TaskState.RUNNING
        (notice,) = stage.worker.status().notices
    assert sorted(stage.cluster.committed("t")) == expected(1, 50)
    assert stage.history.zombies_fenced == 1
    assert "was lost, and another one went on" in notice.text


def test_a_frozen_process_that_wakes_before_init_gives_way():
    """It fences its successor, finds that it is replaced, ends; the successor starts over once (KIP-618)."""
    with HostedHarness() as stage:
        held = Held(stage, "init", "g-c-0")
        stage.put("c", until="50", batch="1")
        assert held.reached.wait(30)
        stage.host.start(0)
        stage.until(lambda: stage.history.records > 3, "the successor's commits")
        held.release()
        stage.until_drained()
        stage.until(lambda: "superseded" in stage.hosted_steps, "the end of the frozen process")
    assert sorted(stage.cluster.committed("t")) == expected(1, 50)
    assert stage.worker.status().tasks[0].state is TaskState.STOPPED


def test_a_clean_stop_commits_what_was_polled():
    hour = str(3_600_000)
    with HostedHarness(connector_of(scripted(batch(0)))) as stage:
        stage.put("c", transaction_boundary="interval", transaction_boundary_interval_ms=hour)
        stage.until(lambda: stage.worker.status().tasks[0].open_records == 2, "an open transaction")
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_task_whose_process_never_came_stops_at_once():
    with HostedHarness() as stage:
        stage.host.starts = False
        stage.put("c")
        assert "waits for a process" in str(stage.worker.status().tasks[0].waiting)
    assert stage.worker.status().tasks[0].state is TaskState.STOPPED
    stage.host.start(0)
    assert stage.cluster.committed("t") == []


def test_a_failed_task_says_why_in_the_worker():
    def damaged(_: Any) -> None:
        raise DamagedDataError("line 7 is cut short")

    with HostedHarness(connector_of(scripted(damaged))) as stage:
        stage.put("c")
        stage.until(lambda: bool(stage.worker.status().failures), "the failure")
        (task,) = stage.worker.status().failures
    assert isinstance(task.error, DamagedDataError)
    assert (str(task.error), task.error.exit_code) == ("line 7 is cut short", ExitCode.DAMAGED_DATA)


def test_a_job_that_its_host_gives_up_fails_the_tasks():
    with HostedHarness() as stage:
        stage.host.starts = False
        stage.put("c", streams="2", tasks_max="2")
        stage.host.on_end[0](StepFailedError("Spark gave up"))
        failures = stage.worker.status().failures
    assert [str(task.error) for task in failures] == ["task c-0: Spark gave up", "task c-1: Spark gave up"]


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


class Clock(ThreadRuntime):
    """A clock that a test puts forward."""

    time = 100.0

    def now(self) -> float:
        return self.time


def test_a_process_that_is_silent_does_not_count_as_idle() -> None:
    """It may have records: a source that knows no end is drained after so long without them, as the process says."""
    clock, task = Clock(), AssignedTask(ConnectorTaskId("c", 0), 1, "c-0")
    services = services_of(clock)
    hosted = HostedTask(task, services, paused=False)
    attempt = Attempt(1, "here", 1, LastWords(), 0.0)
    idle = TaskStatus(task.id, 1, TaskState.RUNNING, idle_since=100.0)
    assert hosted.attach(attempt)

    hosted._handle(attempt, {"status": status_to_json(idle)})
    clock.time = 160.0
    assert not hosted.status().drained(clock.now(), 5.0)
    hosted._handle(attempt, {})
    assert hosted.status().drained(clock.now(), 5.0)


def test_the_status_says_that_a_process_is_silent_until_it_speaks_again() -> None:
    """One that is stopped, as by SIGSTOP, keeps its connection."""
    clock, task = Clock(), AssignedTask(ConnectorTaskId("c", 0), 1, "c-0")
    hosted = HostedTask(task, services_of(clock), paused=False)
    attempt = Attempt(1, "here", 4711, LastWords(), 0.0)
    clock.time = 130.0  # it had to wait for a process
    assert hosted.attach(attempt)

    hosted._handle(attempt, {"status": status_to_json(TaskStatus(task.id, 1, TaskState.RUNNING))})
    clock.time = 139.0
    assert hosted.status().waiting is None
    clock.time = 145.0
    assert "process 4711 on here has said nothing for 15 s" in str(hosted.status().waiting)
    assert hosted.status().trace == hosted.status().waiting
    hosted._handle(attempt, {})
    assert hosted.status().waiting is None


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


def test_paused_tasks_of_other_processes_go_on_when_resumed():
    with HostedHarness() as stage:
        stage.put("c", until="0")
        stage.until(lambda: stage.worker.status().records > 3, "some records")
        stage.worker.pause_connector("c")
        stage.until(lambda: stage.worker.status().tasks[0].state is TaskState.PAUSED, "the pause")
        before = stage.worker.status().records
        stage.worker.resume_connector("c")
        stage.until(lambda: stage.worker.status().records > before, "more records")


def test_a_process_of_a_run_that_was_taken_over_starts_nothing():
    with HostedHarness() as stage:
        stage.host.starts = False
        stage.put("c", until="5")
        entry = json.loads(stage.host.jobs[0].tasks[0])
        stage.host.jobs[0] = type(stage.host.jobs[0])("c", [json.dumps({**entry, "worker": "another"})])
        stage.host.start(0)
        stage.until(lambda: stage.worker.status().tasks[0].superseded, "the end of the process")
    assert stage.cluster.calls == []


def test_a_new_generation_ends_the_processes_of_the_old_one():
    with HostedHarness() as stage:
        stage.put("c", streams="2", until="30", tasks_max="2")
        stage.put("c", streams="2", until="30", tasks_max="1")
        stage.until_drained()
        assert len(stage.worker.status().tasks) == 1
        stage.until(lambda: len(stage.worker._launcher._tasks) == 1, "tasks that have ended to be forgotten")
        assert stage.host.cancelled == ["connector c, generation 0"]
        assert len(stage.worker._launcher._jobs) == 1
    assert sorted(stage.cluster.committed("t")) == expected(2, 30)


def test_a_process_without_its_worker_commits_and_ends():
    hour = str(3_600_000)
    with HostedHarness(connector_of(scripted(batch(0)))) as stage:
        stage.put("c", transaction_boundary="interval", transaction_boundary_interval_ms=hour)
        stage.until(lambda: stage.worker.status().tasks[0].open_records == 2, "an open transaction")
        hosted = next(iter(stage.worker._launcher._tasks.values()))
        hosted._attempt.connection.close()
        stage.until(lambda: bool(stage.host.lost), "the end of the process")
        assert stage.cluster.committed("t") == [b"0", b"1"]
        # The worker reads the end of the connection in a thread of its own.
        stage.until(lambda: "was lost" in str(stage.worker.status().tasks[0].waiting), "the loss in the status")


class Polite(Scripted):
    """Warns of something."""

    def poll(self) -> Any:
        import logging

        if not self.done:
            logging.getLogger("my.connector").warning("the source is slow")
        return super().poll()


def test_warnings_of_a_hosted_task_are_shown_by_the_worker(caplog: pytest.LogCaptureFixture):
    with HostedHarness(connector_of(type("Warns", (Polite,), {"script": [], "heard": []}))) as stage:
        stage.put("c")
        stage.until(lambda: any("process" in one.getMessage() for one in caplog.records), "the warning")
    assert any(one.name == "my.connector" and "the source is slow" in one.getMessage() for one in caplog.records)


def test_a_line_of_the_log_that_cannot_be_formatted_does_not_fail_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    """As everywhere else in Python, stderr says so."""
    client = WorkerClient(LastWords(), ThreadRuntime())
    record = logging.LogRecord("my.connector", logging.WARNING, "connector.py", 7, "%d records", ("many",), None)

    WorkerLogHandler(client).handle(record)

    assert "Logging error" in capsys.readouterr().err


# --- the connection


def test_nobody_is_served_without_the_key():
    runtime, served = ThreadRuntime(), []

    def serve(connection: TaskConnection) -> None:
        served.append(connection.receive())
        connection.close()

    server = TaskServer("127.0.0.1", serve, runtime)
    try:
        with pytest.raises(ConnectionLostError):
            TaskConnection.connected(("127.0.0.1", server.port), b"guessed", runtime)
        with socket.create_connection(("127.0.0.1", server.port)) as odd:
            odd.sendall(b"\xff\xff\xff\xff GET / HTTP/1.1")
            while odd.recv(1000):
                pass
        ours = TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)
        ours.close()
    finally:
        server.close()
    assert served in ([], [None])
    with pytest.raises(ConnectionLostError, match="cannot be reached"):
        TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)


def test_processes_are_connected_again_once_descriptors_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    class OutOfDescriptors(socket.socket):
        def accept(self) -> Any:
            if not failed:
                failed.append(self)
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return super().accept()

    failed: list[socket.socket] = []
    monkeypatch.setattr(socket, "socket", OutOfDescriptors)
    monkeypatch.setattr(task_server, "_PAUSE", 0.01)
    runtime = ThreadRuntime()
    served: Queue[TaskConnection] = runtime.queue()
    server = TaskServer("127.0.0.1", served.put, runtime)
    try:
        task = TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)
        served.get(10).close()
        task.close()
    finally:
        server.close()
    assert failed


def test_a_message_that_was_sent_in_part_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came behind it would be read as its rest."""
    monkeypatch.setattr(connection, "SEND_TIMEOUT", 1)
    runtime = ThreadRuntime()
    served: Queue[TaskConnection] = runtime.queue()
    server = TaskServer("127.0.0.1", served.put, runtime)
    task = TaskConnection.connected(("127.0.0.1", server.port), server.key, runtime)
    server.close()
    worker = served.get(10)

    with pytest.raises(ConnectionLostError):
        worker.send({"do": "x" * (1 << 25)})  # more than the socket holds, and nobody reads

    with pytest.raises(ConnectionLostError):
        worker.send({"do": "stop"})
    assert task.receive() is None
    assert worker.receive() is None
    task.close()


def test_errors_keep_class_text_and_exit_code_on_their_way():
    cause = ConfigError(Problem("[cluster]", "is odd"))
    error = TaskFailedError("it failed")
    error.__cause__, error.exit_code = cause, ExitCode.UNAVAILABLE
    found = error_from_json(json.loads(json.dumps(error_to_json(error))))
    assert (type(found), str(found), found.exit_code) == (TaskFailedError, "it failed", ExitCode.UNAVAILABLE)
    assert (type(found.__cause__), str(found.__cause__)) == (ConfigError, "[cluster]: is odd")
    assert "KeyError: 'x'" in str(error_from_json(error_to_json(KeyError("x"))))
