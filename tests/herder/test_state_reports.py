"""What a worker writes of its tasks: to the status topic, and to its log."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.herder.test_connector_requests import COUNTING, until_states
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector, CountingTask

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import TopicAuthorizationError
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.distributed.state_reports import StateReports
from eosfw.runtime.status import PollFailures, TaskState, TaskStatus
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.herders import HerderGroup

TASK = ConnectorTaskId("c", 0)


class NoticingTask(CountingTask):
    """Skips a line in each poll."""

    def poll(self):
        self.context.notice("malformed line", "a line is skipped")
        return super().poll()


class NoticingConnector(CountingConnector):
    """Counts with tasks that skip lines."""

    task = NoticingTask


def written_states() -> tuple[StateReports, list[tuple[str, str | None, bool]]]:
    """The reports of a worker, with the states, traces and marks for late ones that they have written."""
    written: list[tuple[str, str | None, bool]] = []
    statuses = SimpleNamespace(
        put_task=lambda _, status, *, late: written.append((status.state, status.trace, late)),
    )
    made = StateReports(statuses, "a:8083", lambda: 1, lambda _: None, ThreadRuntime(), track_topics=False)  # type: ignore[arg-type]
    return made, written


def test_a_task_that_has_run_and_is_about_to_start_again_is_restarting():
    """TXN-09: its cluster was away for longer than a transaction may last, so it polls no more. Paused it is paused."""
    reports, written = written_states()
    running = TaskStatus(TASK, 0, TaskState.RUNNING)

    why = "the task starts again after 60 s: no broker answered"
    reports.on_status(replace(running, waiting=why, trace=why))
    reports.on_status(replace(running, state=TaskState.PAUSED, waiting=why, trace=why))
    reports.on_status(running)

    assert written == [("RESTARTING", why, True), ("PAUSED", None, False), ("RUNNING", None, False)]


def test_a_task_that_failed_is_an_error_in_the_log_of_its_worker(caplog: pytest.LogCaptureFixture):
    """Kafka Connect's too: who watches logs alone hears of it; the trace is in the status."""
    reports, written = written_states()
    why = TopicAuthorizationError("Write on the topic 'orders' is missing")

    reports.on_status(TaskStatus(TASK, 0, TaskState.FAILED, error=why, trace="Traceback ..."))

    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("ERROR", f"task {TASK} failed, and waits for a restart: Write on the topic 'orders' is missing")
    ]
    assert written == [("FAILED", "Traceback ...", True)]


def test_notices_of_tasks_are_in_the_log_of_their_worker_and_do_not_fill_it(cluster: Cluster, caplog):
    """It has no summary, which shows them for a run; what was skipped or lost would be seen by nobody."""
    with HerderGroup(cluster, GroupPlugins(NoticingConnector()), "g") as group:  # type: ignore[arg-type]
        herder = group.start()
        herder.put_connector("c", {**COUNTING, "streams": "1", "until": "0"})
        until_states(herder, group, "RUNNING", ["RUNNING"])
        group.runtime.sleep(60)

    said = [one.message for one in caplog.records if "a line is skipped" in one.message]
    assert said[0] == "a line is skipped (malformed line: 1)"
    assert 3 < len(said) < 10, "each pause is twice as long as the one before"
    assert int(said[-1].rpartition(" ")[2].rstrip(")")) > 20


def test_a_state_that_failed_polls_repeat_does_not_replace_that_of_the_tasks_new_owner():
    """SCN-07: a worker that was frozen polls once more before it hears that its group has gone on."""
    reports, written = written_states()
    running = TaskStatus(TASK, 0, TaskState.RUNNING)

    reports.on_status(running)
    reports.on_status(replace(running, poll_failures=PollFailures(1, "no answer", ongoing=True)))
    reports.on_status(replace(running, poll_failures=PollFailures(1, "no answer", ongoing=False)))

    assert [(state, late) for state, _, late in written] == [("RUNNING", False), ("RUNNING", True), ("RUNNING", True)]


class LongWinded(CountingTask):
    """Fails with more text than a record of the cluster may have."""

    def poll(self):
        raise RuntimeError("begin " + "x" * 2_000_000 + " end")


class LongWindedConnector(CountingConnector):
    task = LongWinded


def test_a_task_that_fails_with_a_very_long_error_is_failed(cluster: Cluster):
    """SCN-07: its state would be RUNNING for ever, since no record of the status topic holds the trace."""
    with HerderGroup(cluster, GroupPlugins(LongWindedConnector()), "g") as group:  # type: ignore[arg-type]
        herder = group.start()
        herder.put_connector("c", {**COUNTING, "tasks.max": "1"})
        until_states(herder, group, "RUNNING", ["FAILED"])

        trace = herder.task_status(TASK).trace or ""
        assert trace.startswith("Traceback (most recent call last):")
        assert "RuntimeError: begin xxx" in trace
        assert trace.endswith("xxx end\n")
        assert len(trace) < 100_000
