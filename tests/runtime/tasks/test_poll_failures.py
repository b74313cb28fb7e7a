"""A source that fails is not a source that is empty (TXN-18)."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from eosfw.errors import RetriableError
from eosfw.runtime.status import PollFailures, TaskState

from ..scripted_task import batch, failure, run, scripted
from ..worker_harness import WorkerHarness, connector_of


class DeadServer:
    """Answers its first polls as given, then fails for ever."""

    def __init__(self, *answers: Any, retry_after: float | None = None) -> None:
        self.answers, self.retry_after, self.polls = list(answers), retry_after, 0

    def __call__(self) -> Any:  # an object is not bound to the task whose class holds it
        self.polls += 1
        if self.answers:
            return self.answers.pop(0)
        raise RetriableError(f"no answer to request {self.polls}", retry_after=self.retry_after)


def failures(stage: WorkerHarness) -> PollFailures:
    (task,) = stage.worker.status().tasks
    return task.poll_failures or PollFailures(0, "", ongoing=False)


@pytest.mark.parametrize("answer", [True, None], ids=["at its end", "unsure"])
def test_a_task_whose_last_poll_failed_is_not_drained(answer):
    """TXN-18: whatever it says of its end, and however long it is idle."""
    server = DeadServer(batch(0))
    with WorkerHarness(connector_of(scripted(poll=server, at_end=lambda _: answer))) as stage:
        stage.put("c")
        stage.until(lambda: failures(stage).count > 5, "failed polls")
        drained = stage.worker.drained(0.0)

    assert not drained
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_the_last_error_is_shown_with_how_many_polls_failed():
    """TXN-18: in the status, also after the source recovered."""
    server = DeadServer()
    with WorkerHarness(connector_of(scripted(poll=server, at_end=lambda _: True))) as stage:
        stage.put("c")
        stage.until(lambda: failures(stage).count >= 3, "failed polls")
        during = failures(stage)
        server.answers = [None] * 1_000_000
        stage.until(lambda: stage.worker.drained(0.0), "a drained run")
        behind = failures(stage)

    count = during.count
    assert during == PollFailures(count, f"no answer to request {count}", ongoing=True)
    assert str(during) == f"{count} polls failed, now with: no answer to request {count}"
    assert (behind.ongoing, behind.count >= count) == (False, True)
    assert dict(stage.worker.status().poll_failures) == {(task.id): behind for task in stage.worker.status().tasks}


def test_idle_time_begins_anew_behind_a_failed_poll():
    """TXN-18: one answer between failures is no long silence."""
    server = DeadServer()
    with WorkerHarness(connector_of(scripted(poll=server, at_end=lambda _: None))) as stage:
        stage.put("c")
        stage.until(lambda: failures(stage).count >= 5, "failed polls")
        server.answers = [None] * 1_000_000

        seen = []

        def answered():
            seen[:] = stage.worker.status().tasks
            # While a task sends, be it nothing, it is not idle.
            return not seen[0].poll_failures.ongoing and seen[0].idle_since is not None

        stage.until(answered, "an answer")
        began = stage.events[0].at

    assert seen[0].idle_since >= began + 0.4  # four pauses of failed polls lie before it


def test_a_failed_poll_is_repeated_after_its_retry_after():
    """TXN-18: `retry_after`, in seconds."""
    poll_times: list[float] = []

    def poll(task: Any) -> Any:
        poll_times.append(time.monotonic())
        if len(poll_times) == 1:
            raise RetriableError("too many requests", retry_after=0.4)

    with WorkerHarness(connector_of(scripted(poll=poll, at_end=lambda _: True))) as stage:
        stage.put("c")
        stage.until(lambda: len(poll_times) > 1, "a second poll")

    assert poll_times[1] - poll_times[0] >= 0.4


@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_a_task_that_waits_to_poll_again_stops_when_it_is_asked(boundary):
    """TXN-11, TXN-18: a task that waits an hour still stops at once, and its sent records commit."""
    server = DeadServer(batch(0), retry_after=3600.0)
    with WorkerHarness(connector_of(scripted(poll=server))) as stage:
        stage.put("c", transaction_boundary=boundary, transaction_boundary_interval_ms="3600000")
        stage.until(lambda: failures(stage).count == 1, "the failed poll")
        stage.worker.stop(10.0)
        (task,) = stage.worker.status().tasks

    assert (task.state, server.polls) == (TaskState.STOPPED, 2)
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_an_interval_that_ends_while_a_task_waits_is_committed():
    """BND-07, TXN-18: else the transaction would time out during a long wait."""
    server = DeadServer(batch(0), retry_after=3600.0)
    with WorkerHarness(connector_of(scripted(poll=server))) as stage:
        stage.put("c", transaction_boundary="interval", transaction_boundary_interval_ms="200")
        stage.until(lambda: stage.cluster.committed("t") == [b"0", b"1"], "the commit")
        stage.until(lambda: server.polls == 2, "the failed poll")


def test_failed_polls_are_logged_less_and_less_often(caplog):
    """TXN-18: the first at once, not each of thousands."""
    server = DeadServer(retry_after=0.0)
    with caplog.at_level(logging.WARNING), WorkerHarness(connector_of(scripted(poll=server))) as stage:
        stage.put("c")
        stage.until(lambda: failures(stage).count > 500, "failed polls")

    reported = [one.getMessage() for one in caplog.records if "polls again" in one.getMessage()]
    assert reported[0] == "task c-0 polls again: 1 poll failed, now with: no answer to request 1"
    assert len(reported) < 10


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_an_impossible_wait_fails_the_task(seconds):
    """TXN-18: the author finds it at once."""

    def poll(task: Any) -> Any:
        raise RetriableError("later", retry_after=seconds)

    assert f"retry_after is a number of seconds, not {seconds!r}" in failure(run(scripted(poll=poll)))
