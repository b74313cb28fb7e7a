"""When a task counts as drained: its source has nothing, and nothing that it gave is under way."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from eosfw.records import SourceBatch
from eosfw.state.steps import StepEvent, TaskStep

from ..scripted_task import OFFSETS, batch, scripted
from ..worker_harness import PATIENCE, WorkerHarness, connector_of

IDLE = 0.3


def unsure(self: Any) -> None:
    """Report that the source does not know its end."""


class Held:
    """Holds a task at the first announcement of a step until let go."""

    def __init__(self, step: TaskStep) -> None:
        self._step = step
        self.there, self.released = threading.Event(), threading.Event()

    def __call__(self, event: StepEvent) -> None:
        if event.task is not None and event.step is self._step and not self.there.is_set():
            self.there.set()
            assert self.released.wait(PATIENCE)


@pytest.mark.parametrize("step", [TaskStep.BEGIN, TaskStep.SEND, TaskStep.SEND_OFFSETS, TaskStep.COMMIT])
@pytest.mark.parametrize("answer", [None, True], ids=["unsure", "at its end"])
def test_a_task_is_not_drained_while_what_it_polled_is_under_way(step, answer):
    """However long that takes, so a slow commit is not taken for the end of the stream."""
    held = Held(step)
    task = scripted(None, batch(0), batch(2), at_end=lambda _: answer)

    with WorkerHarness(connector_of(task), on_step=held) as stage:
        stage.put("c")
        assert held.there.wait(PATIENCE)
        during = stage.worker.drained(0.0)
        held.released.set()
        # A source that does not know its end is idle as well while its thread gets no turn between two polls.
        stage.until(lambda: len(stage.cluster.committed("t")) == 4, "all records")
        stage.until(lambda: stage.worker.drained(IDLE), "a drained run")

    assert not during
    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]


def test_a_commit_between_polls_without_records_keeps_a_task_from_being_drained():
    """BND-07: an interval ends while its source has nothing."""
    held = Held(TaskStep.COMMIT)
    task = scripted(batch(0), at_end=lambda _: True)

    with WorkerHarness(connector_of(task), on_step=held) as stage:
        stage.put("c", transaction_boundary="interval", transaction_boundary_interval_ms="1")
        assert held.there.wait(PATIENCE)
        during = stage.worker.drained(0.0)
        held.released.set()
        stage.until(lambda: stage.worker.drained(0.0), "a drained run")

    assert not during


@pytest.mark.parametrize("before", [[], [batch(0)]], ids=["the first", "one behind records"])
def test_a_source_that_knows_its_end_is_not_drained_while_a_poll_takes_long(before):
    """A run would end, and report success, without the records of that poll."""
    polling, released = threading.Event(), threading.Event()

    def slow(_: Any) -> SourceBatch:
        polling.set()
        assert released.wait(PATIENCE)
        return batch(2)

    with WorkerHarness(connector_of(scripted(*before, slow))) as stage:
        stage.put("c")
        assert polling.wait(PATIENCE)
        stage.until(lambda: stage.worker.status().records == 2 * len(before), "the commit of what was polled before")
        during = stage.worker.drained(0.0)
        released.set()
        stage.until_drained()

    assert not during
    assert stage.cluster.committed("t")[-2:] == [b"2", b"3"]


def empty(offset: int) -> SourceBatch:
    return batch(offset, 0)


@pytest.mark.parametrize("moving", [False, True], ids=["standing", "moving"])
def test_a_source_of_endless_empty_batches_is_drained(moving):
    """A task without records is idle, whatever else it reports; its offsets are committed."""
    polls = iter(range(1, 1_000_000))

    def poll(self: Any) -> SourceBatch:
        return empty(next(polls) if moving else 5)

    with WorkerHarness(connector_of(scripted(poll=poll, at_end=unsure))) as stage:
        stage.put("c")
        stage.until(lambda: stage.cluster.calls.count(OFFSETS) > 1, "offsets of two polls")
        stage.until(lambda: stage.worker.drained(IDLE), "a drained run")

    assert not stage.worker.status().notices


@pytest.mark.parametrize(("answer", "drained"), [(True, True), (False, False)])
def test_a_source_with_an_empty_batch_is_asked_for_its_end(answer, drained):
    """An empty batch is a poll without records."""
    task = scripted(poll=lambda _: empty(5), at_end=lambda _: answer)

    with WorkerHarness(connector_of(task)) as stage:
        stage.put("c")
        stage.until(lambda: stage.worker.status().tasks[0].at_end is answer, "its answer")
        if drained:
            stage.until(lambda: stage.worker.drained(1_000_000.0), "a drained run")
        else:
            assert not stage.worker.drained(0.0)
