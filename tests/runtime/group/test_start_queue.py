"""Tasks start a few at a time, in the order in which they ask, and one that hangs keeps nobody waiting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.runtime.tasks.control import TaskControl
from eosfw.runtime.tasks.start_queue import AT_ONCE, LONGEST_TURN, StartQueue
from pytest_eos.virtual import VirtualRuntime


class Starts:
    """Starts of tasks on threads of their own."""

    def __init__(self, clock: VirtualRuntime) -> None:
        self.clock, self.queue, self.created = clock, StartQueue(clock), clock.now()
        self.began: list[tuple[int, float]] = []
        self.stopped: list[int] = []
        self.under_way = self.most = 0

    def start(self, number: int, seconds: float) -> TaskControl:
        """Let a task ask for its turn, which lasts so long."""
        control = TaskControl(self.clock)

        def run() -> None:
            with self.queue.turn(control) as may_start:
                if not may_start:
                    self.stopped.append(number)
                    return
                self.began.append((number, self.clock.now() - self.created))
                self.under_way += 1
                self.most = max(self.most, self.under_way)
                self.clock.sleep(seconds)
                self.under_way -= 1

        self.clock.spawn(f"start-{number}", run)
        self.clock.sleep(0.0001)
        return control


@pytest.fixture
def starts() -> Iterator[Starts]:
    with VirtualRuntime() as clock:
        yield Starts(clock)


def test_a_few_tasks_start_at_the_same_time_in_the_order_in_which_they_ask(starts):
    for number in range(50):
        starts.start(number, 0.1)
    starts.clock.sleep(5.0)

    assert starts.most == AT_ONCE
    assert [number for number, _ in starts.began] == list(range(50))
    assert starts.began[-1][1] < 50 / AT_ONCE * 0.1 + 0.2


def test_starts_that_hang_keep_nobody_waiting_for_long(starts):
    for number in range(AT_ONCE):
        starts.start(number, 1000.0)
    starts.start(AT_ONCE, 0.1)
    starts.clock.sleep(2 * LONGEST_TURN)

    number, began = starts.began[-1]
    assert number == AT_ONCE
    assert began < LONGEST_TURN + 0.1


def test_a_task_that_is_asked_to_stop_waits_no_longer(starts):
    """Wherever it stands, and those behind it come up."""
    controls = [starts.start(number, 0.5) for number in range(AT_ONCE + 3)]

    controls[AT_ONCE].stop()
    controls[AT_ONCE + 1].stop()
    starts.clock.sleep(0.01)
    assert starts.stopped == [AT_ONCE, AT_ONCE + 1]

    starts.clock.sleep(1.0)
    assert starts.began[-1][0] == AT_ONCE + 2
    assert starts.began[-1][1] < 0.6
