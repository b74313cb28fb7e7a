"""Tasks in other processes: the worker leads, fencing keeps every record once, whatever dies or wakes."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import pytest

from eosfw.errors import DamagedDataError, ExitCode, StepFailedError
from eosfw.runtime.status import TaskState

from ..counting import expected
from ..hosting_harness import HostedHarness
from ..scripted_task import Scripted, batch, scripted
from ..worker_harness import connector_of


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

        if not self.done:
            logging.getLogger("my.connector").warning("the source is slow")
        return super().poll()


def test_warnings_of_a_hosted_task_are_shown_by_the_worker(caplog: pytest.LogCaptureFixture):
    with HostedHarness(connector_of(type("Warns", (Polite,), {"script": [], "heard": []}))) as stage:
        stage.put("c")
        stage.until(lambda: any("process" in one.getMessage() for one in caplog.records), "the warning")
    assert any(one.name == "my.connector" and "the source is slow" in one.getMessage() for one in caplog.records)
