"""A `Runtime` in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Self, TypeVar

from eosfw.concurrency import Queue, Spawned
from pytest_eos.virtual.primitives import VirtualEvent, VirtualLock, VirtualQueue, VirtualSpawned
from pytest_eos.virtual.scheduler import TICK, Process, Scheduler

T = TypeVar("T")
EPOCH = 946_684_800.0
"""2000-01-01, the start of virtual time, so that its timestamps are not mistaken for real ones."""
PATIENCE = 3600.0


class _Runtime:
    """The calls of a `Runtime` on a scheduler, made by one process or by the test itself."""

    def __init__(self, scheduler: Scheduler, process: Process | None) -> None:
        self._scheduler, self._process = scheduler, process

    def now(self) -> float:
        scheduler = self._scheduler
        scheduler.now += TICK
        return scheduler.now

    def wall(self) -> float:
        return EPOCH + self._scheduler.now

    def sleep(self, seconds: float) -> None:
        self._scheduler.wait(f"{seconds:g} s to pass", seconds)

    def event(self) -> VirtualEvent:
        return VirtualEvent(self._scheduler)

    def lock(self) -> AbstractContextManager[object]:
        return VirtualLock(self._scheduler, self._process)

    def queue(self) -> Queue[T]:
        return VirtualQueue[T](self._scheduler)

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        return VirtualSpawned(self._scheduler, self._scheduler.spawn(name, target, self._process))


class VirtualRuntime(_Runtime):
    """Greenlets on the thread that created it, which is the participant "the test", and a virtual clock.

    With a seed, every call of the runtime may switch to another greenlet; the same seed gives the same interleaving.
    Without one (None or 0), each greenlet runs until it blocks, in the order in which they became ready. `patience`
    bounds, in virtual seconds, how long the test itself waits without a timeout; then DeadlockError lists what each
    greenlet waits for.
    """

    def __init__(self, seed: int | str | None = None, *, patience: float = PATIENCE) -> None:
        super().__init__(Scheduler(seed, patience), None)

    def process(self, name: str) -> VirtualProcess:
        """A process of its own on this clock, which can be suspended or ended with all of its greenlets."""
        return VirtualProcess(self._scheduler, Process(name))

    def observe_turns(self, observer: Callable[[str, float], None] | None) -> None:
        """Tell `observer` at every turn the name of the greenlet that goes on, and the time."""
        self._scheduler.on_turn = observer

    def close(self) -> list[str]:
        """End all greenlets that still run and return their names, without those of processes that had ended.

        Nothing can wait on this clock afterwards.
        """
        return self._scheduler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class VirtualProcess(_Runtime):
    """The `Runtime` of one process: its greenlets stand still, or end, together, at any of its calls.

    A greenlet that holds a lock of another process, say within a request to the embedded broker, goes on until it has
    given it back, as the other process would.
    """

    _process: Process
    clock_error = 0.0
    """Seconds by which its wall clock is ahead of the others, or with less than 0 behind; timeouts do not meet it."""

    def wall(self) -> float:
        return super().wall() + self.clock_error

    @property
    def name(self) -> str:
        """The name of the process."""
        return self._process.name

    @property
    def stands(self) -> bool:
        """Whether it is suspended or has ended."""
        return self._process.stands

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.ended

    @property
    def points(self) -> int:
        """How many yield points it has passed: calls of this runtime at which another greenlet may go on."""
        return self._process.points

    def is_running_now(self) -> bool:
        """Whether the greenlet that runs now belongs to this process."""
        return self._scheduler.current.process is self._process

    def at_point(self, point: int, strike: Callable[[], None]) -> None:
        """Call `strike`, which must not wait, at a yield point counted from the start; one of these at a time."""
        self._process.stop_at, self._process.strike = point, strike

    def pass_turn(self) -> None:
        """Let others go on, if the calling greenlet's process has been suspended or ended."""
        self._scheduler.yield_turn()

    def suspend(self) -> None:
        """Let no greenlet of it go on."""
        self._scheduler.suspend(self._process)

    def resume(self) -> None:
        """Let its greenlets go on."""
        self._scheduler.resume(self._process)

    def end(self) -> None:
        """Let no greenlet of it ever go on again: nothing is closed, nothing is said, as if it had been killed."""
        self._scheduler.end(self._process)

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        return super().spawn(f"{self.name}/{name}", target)
