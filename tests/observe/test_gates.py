"""A gate freezes exactly the task it names, until it is opened."""

from __future__ import annotations

from typing import ClassVar

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Announcer, Gates, History
from eosfw.state.steps import StepEvent, TaskStep

from .event_histories import event

RUNTIME = ThreadRuntime()


def test_a_task_stays_frozen_before_the_named_step_until_the_gate_opens() -> None:
    passed = RUNTIME.event()
    with Gates(RUNTIME) as gates:
        gate = gates.freeze(TaskStep.COMMIT, task=2)

        def task() -> None:
            gates.observe(event(TaskStep.COMMIT, 1.0, task=2))
            passed.set()

        spawned = RUNTIME.spawn("task", task)
        assert gate.reached.wait(30)
        assert gate.fired
        assert not passed.is_set()
        gate.open()

        assert passed.wait(30)
        assert spawned.join(30)
        assert gate.freeze is not None
        assert gate.freeze.until is not None


@pytest.mark.parametrize(
    "other",
    [
        event(TaskStep.BEGIN, 1.0, task=2),
        event(TaskStep.COMMIT, 1.0, task=1),
        event(TaskStep.COMMIT, 1.0, task=None),
        event(TaskStep.COMMIT, 1.0, task=2, generation=1),
    ],
    ids=["another step", "another task", "the leader", "another generation"],
)
def test_tasks_not_named_by_a_gate_pass_it(other: StepEvent) -> None:
    gates = Gates(RUNTIME)
    gate = gates.freeze(TaskStep.COMMIT, task=ConnectorTaskId("flights", 2), when=lambda seen: seen.generation == 0)

    gates.observe(other)

    assert not gate.fired


def test_only_the_nth_announcement_is_caught_and_only_once() -> None:
    gates = Gates(RUNTIME)
    gate = gates.freeze(TaskStep.POLL, nth=3)
    seen: list[int] = []

    def task() -> None:
        for n in range(1, 6):
            gates.observe(event(TaskStep.POLL, float(n)))
            seen.append(n)

    spawned = RUNTIME.spawn("task", task)
    assert gate.reached.wait(30)
    assert seen == [1, 2]
    gate.open()

    assert spawned.join(30)
    assert seen == [1, 2, 3, 4, 5]
    assert gate.event == event(TaskStep.POLL, 3.0)


def test_an_unused_gate_is_named_and_closing_releases_waiters() -> None:
    gates = Gates(RUNTIME)
    gates.freeze(TaskStep.POLL)
    forgotten = gates.freeze(TaskStep.ABORT, task=7)
    spawned = RUNTIME.spawn("task", lambda: gates.observe(event(TaskStep.POLL, 1.0)))
    assert next(gate for gate in gates._gates if gate is not forgotten).reached.wait(30)

    gates.close()

    assert spawned.join(30)
    assert gates.unfired() == (forgotten,)
    assert str(forgotten) == "task 7 before abort"


def test_an_opened_gate_lets_later_tasks_pass() -> None:
    gates = Gates(RUNTIME)
    gate = gates.freeze(TaskStep.POLL)
    gate.open()

    gates.observe(event(TaskStep.POLL, 1.0))

    assert not gate.fired


def test_a_failing_observer_is_logged_and_others_are_still_called(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        name: ClassVar[str] = "broken"

        def observe(self, event: StepEvent) -> None:
            raise ValueError("no")

    history = History(RUNTIME)

    Announcer([Broken(), history])(event(TaskStep.POLL, 1.0))

    assert len(history.events()) == 1
    assert "observer 'broken' failed at step poll" in caplog.text
