"""A call is tried again after growing pauses, and never beyond its deadline."""

from __future__ import annotations

from eosfw.concurrency import ThreadRuntime
from eosfw.retry_timer import RetryTimer


class Clock(ThreadRuntime):
    """A clock that only pauses advance."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 100.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds


def test_pauses_double_up_to_the_longest():
    """The first attempt to repeat comes at once."""
    clock = Clock()
    timer = RetryTimer(clock, clock.now() + 60.0, longest=0.005)

    assert all(timer.backoff() for _ in range(6))
    assert clock.pauses == [0.001, 0.002, 0.004, 0.005, 0.005]


def test_a_pause_may_stay_the_same():
    clock = Clock()
    timer = RetryTimer(clock, clock.now() + 60.0, pause=0.02, longest=0.02)

    assert all(timer.backoff() for _ in range(3))
    assert clock.pauses == [0.02] * 3


def test_no_pause_ends_beyond_the_deadline():
    """A known error is raised at once, without a useless pause."""
    clock = Clock()
    timer = RetryTimer(clock, clock.now() + 0.5, pause=0.4, longest=0.4)

    assert timer.backoff()
    assert not timer.backoff()
    assert clock.pauses == [0.4]
    assert round(timer.remaining(), 6) == 0.1


def test_beyond_the_deadline_no_time_remains():
    """A pause may end late on a busy machine, and a client takes no negative number of seconds."""
    clock = Clock()
    timer = RetryTimer(clock, clock.now() + 0.5, pause=0.4)
    assert timer.backoff()
    clock.time += 0.2

    assert timer.remaining() == 0.0
