"""A lock across blocking calls goes to the thread that waits longest, and is never lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eosfw.concurrency import Event, FairLock, ThreadRuntime

SOON = 30.0


class WatchedEvent:
    """An event that tells when a thread begins to wait for it."""

    def __init__(self, event: Event, runtime: WatchedRuntime) -> None:
        self._event, self._runtime = event, runtime

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        self._runtime.on_wait()
        return self._event.wait(timeout)


class WatchedRuntime(ThreadRuntime):
    """Threads, with a function to run when one of them begins to wait."""

    on_wait: Callable[[], None] = staticmethod(lambda: None)

    def event(self) -> Event:
        return WatchedEvent(super().event(), self)


def test_the_lock_is_granted_in_order_of_arrival() -> None:
    """No thread is passed over, however often the others come back."""
    runtime, order = WatchedRuntime(), []
    lock, threads = FairLock(runtime), []

    def hold(name: str) -> None:
        with lock.held(runtime.now() + SOON) as mine:
            assert mine
            order.append(name)

    with lock.held(runtime.now()) as mine:
        assert mine
        for name in ("first", "second", "third"):
            waits = ThreadRuntime().event()
            runtime.on_wait = waits.set
            threads.append(runtime.spawn(name, lambda name=name: hold(name)))
            assert waits.wait(SOON)
    assert all(thread.join(SOON) for thread in threads)
    assert order == ["first", "second", "third"]


def test_a_waiter_whose_time_is_over_leaves_the_lock_to_others() -> None:
    runtime = ThreadRuntime()
    lock = FairLock(runtime)
    with lock.held(runtime.now()):
        assert lock.acquire(runtime.now() - 1) is False
        with lock.held(runtime.now()) as mine:
            assert mine is False
    assert lock.acquire(runtime.now()) is True


def test_a_lock_handed_over_as_time_ends_is_taken() -> None:
    """Otherwise it would belong to a thread that has given up, for ever."""
    runtime = WatchedRuntime()
    lock = FairLock(runtime)
    assert lock.acquire(runtime.now())
    runtime.on_wait = lock.release  # after the waiter came, before its time is over
    assert lock.acquire(runtime.now()) is True
    runtime.on_wait = lambda: None
    assert lock.acquire(runtime.now()) is False


@pytest.mark.parametrize("interrupted", ["before the release", "after the release"])
def test_a_waiter_that_is_interrupted_does_not_keep_the_lock(interrupted: str) -> None:
    runtime = WatchedRuntime()
    lock, released = FairLock(runtime), interrupted == "after the release"
    assert lock.acquire(runtime.now())

    def interrupt() -> None:
        if released:
            lock.release()
        raise KeyboardInterrupt

    runtime.on_wait = interrupt
    with pytest.raises(KeyboardInterrupt):
        lock.acquire(runtime.now() + SOON)
    if not released:
        lock.release()
    assert lock.acquire(runtime.now()) is True
