"""A paused task leaves no transaction open, polls nothing, and goes on where it was."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from clocks import AdvancedClock
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import RetriableError
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.group.sole_member import SoleMember
from eosfw.runtime.status import TaskState
from eosfw.runtime.tasks.control import TaskControl
from eosfw.state.steps import TaskStep

from ..scripted_task import OFFSETS, Scripted, batch, record, scripted
from ..worker_harness import PATIENCE, WorkerHarness, connector_of

HOUR = 3_600_000


def state(stage: WorkerHarness, connector: str = "c") -> TaskState:
    """The state of a connector's only task."""
    (task,) = stage.worker.status().connectors[connector].tasks
    return task.state


def pause(stage: WorkerHarness) -> None:
    stage.worker.pause_connector("c")
    stage.until(lambda: state(stage) is TaskState.PAUSED, "the pause")


class Fed(Scripted):
    """Returns what a test appends to `feed`, so that a test decides when there are records."""

    feed: list[Any]
    polls = 0

    def start(self, config: Any, context: Any) -> None:
        super().start(config, context)
        self.left = self.feed

    def poll(self) -> Any:
        type(self).polls += 1
        return super().poll()


def fed(*script: Any, **methods: Any) -> type[Fed]:
    return type("FedTask", (Fed,), {"feed": list(script), "heard": [], **methods})


def test_a_pause_commits_the_open_transaction_and_polls_nothing():
    """TXN-12: so that no reader waits for it while nothing happens."""
    task = fed(batch(0))
    with WorkerHarness(connector_of(task)) as stage:
        stage.put("c", transaction_boundary="interval", transaction_boundary_interval_ms=str(HOUR))
        stage.until(lambda: stage.worker.status().tasks[0].open_records == 2, "an open transaction")
        pause(stage)

        assert stage.cluster.calls == ["init", "begin", "send t 2", OFFSETS, "commit"]
        task.feed.append(batch(2))
        polls = task.polls
        stage.worker.resume_connector("nobody")
        assert (state(stage), task.polls, stage.worker.drained(0)) == (TaskState.PAUSED, polls, False)

        stage.worker.resume_connector("c")
        stage.until(lambda: stage.worker.status().tasks[0].open_records == 2, "the next records")
    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]
    assert [step for step in stage.steps() if step in (TaskStep.PAUSED, TaskStep.RESUMED)] == [
        TaskStep.PAUSED,
        TaskStep.RESUMED,
    ]


def test_resuming_begins_the_transaction_interval_anew():
    """TXN-12: the time of the pause does not count, or the first poll would commit at once."""
    task, runtime = fed(batch(0)), AdvancedClock()
    with WorkerHarness(connector_of(task), runtime=runtime) as stage:
        stage.put("c", transaction_boundary="interval", transaction_boundary_interval_ms=str(HOUR))
        stage.until(lambda: stage.worker.status().tasks[0].open_records == 2, "an open transaction")
        pause(stage)
        runtime.ahead = 2 * HOUR / 1000
        task.feed.append(batch(2))
        stage.worker.resume_connector("c")
        stage.until(lambda: not task.feed, "the next records")
        polls = task.polls
        stage.until(lambda: task.polls > polls + 1, "further polls")

        assert (stage.cluster.calls.count("commit"), stage.worker.status().tasks[0].open_records) == (1, 2)
        runtime.ahead *= 2
        stage.until(lambda: stage.cluster.calls.count("commit") == 2, "the end of the interval")


def test_a_pause_aborts_what_a_connector_did_not_ask_to_commit():
    """TXN-12: it starts over from its committed offsets, so nothing is lost or comes twice."""
    put = threading.Event()

    class Counting(Scripted):
        """Numbers from the committed offset on; it asks for no commit behind its second poll."""

        heard: ClassVar[list[str]] = []
        polls = 0

        def start(self, config: Any, context: Any) -> None:
            super().start(config, context)
            self.left = [record(number) for number in range((context.offset({"p": "a"}) or {"o": 0})["o"], 3)]

        def poll(self) -> Any:
            if not self.left:
                return None
            Counting.polls += 1
            if Counting.polls == 2:
                assert put.wait(PATIENCE)
                stage.worker.pause_connector("c")
            else:
                self.context.transaction.commit()
            return [self.left.pop(0)]

    with WorkerHarness(connector_of(Counting)) as stage:
        stage.put("c", transaction_boundary="connector")
        put.set()
        stage.until(lambda: state(stage) is TaskState.PAUSED, "the pause")

        assert stage.cluster.calls[-4:] == ["begin", "send t", "abort", "close"]
        assert (stage.cluster.open, Counting.heard[-1]) == ({}, "stop")
        stage.worker.resume_connector("c")
        stage.until(lambda: len(stage.cluster.committed("t")) == 3, "the records of before the pause")
    assert stage.cluster.committed("t") == [b"0", b"1", b"2"]
    assert stage.cluster.calls.count("init") == 2


class PausedMember(SoleMember):
    """Starts every task paused."""

    def on_new_generation(self, assignment: Assignment) -> None:
        self._assignments[assignment.connector] = assignment
        self._joined().start_generation(assignment, paused=True)


def test_a_task_that_starts_paused_touches_no_producer_until_it_is_resumed():
    """TXN-12: it might fence somebody, and would hold an id that it does not use."""
    task = scripted(batch(0))
    with WorkerHarness(connector_of(task), member=PausedMember(ThreadRuntime())) as stage:
        stage.put("c")
        stage.until(lambda: state(stage) is TaskState.PAUSED, "the pause")

        assert stage.steps() == [TaskStep.PAUSED]
        assert stage.cluster.calls == []
        stage.worker.resume_connector("c")
        stage.until(lambda: stage.worker.drained(9), "the end of the script")
    assert stage.cluster.committed("t") == [b"0", b"1"]


@pytest.mark.parametrize("started", [True, False])
def test_a_paused_task_stops_when_it_is_asked(started):
    """TXN-12: whether or not it ever polled."""
    task = scripted()
    member = None if started else PausedMember(ThreadRuntime())
    with WorkerHarness(connector_of(task), member=member) as stage:
        stage.put("c")
        if started:
            stage.until(lambda: state(stage) is TaskState.RUNNING, "the start")
            stage.worker.pause_connector("c")
        stage.until(lambda: state(stage) is TaskState.PAUSED, "the pause")
    assert state(stage) is TaskState.STOPPED
    assert task.heard.count("stop") == started
    assert TaskStep.RESUMED not in stage.steps()


def test_a_pause_ends_the_wait_before_a_repeated_poll():
    """TXN-12: a source that asked for an hour must not keep its task from pausing."""
    with WorkerHarness(connector_of(scripted(RetriableError("later", retry_after=3600.0), batch(0)))) as stage:
        stage.put("c")
        stage.until(lambda: bool(stage.worker.status().poll_failures), "the failed poll")
        pause(stage)
        stage.worker.resume_connector("c")
        stage.until(lambda: stage.worker.drained(9), "the end of the script")
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_rest_ends_at_once_when_the_task_is_asked_to_pause_or_stop():
    """Also if it was asked just before."""
    runtime = ThreadRuntime()
    for ask in (TaskControl.pause, TaskControl.stop):
        for late in (False, True):
            control, rested = TaskControl(runtime), runtime.event()
            if not late:
                ask(control)

            def rest(control: TaskControl = control, rested: Any = rested) -> None:
                control.rest(3600.0)
                rested.set()

            runtime.spawn("rest", rest)
            ask(control)
            assert rested.wait(30)
            assert (control.running, control.paused) == (False, ask is TaskControl.pause)
