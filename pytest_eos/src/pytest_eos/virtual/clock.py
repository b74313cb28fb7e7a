"""A `Runtime` in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Self, TypeVar

from eosfw.concurrency import Event, Queue, Spawned
from pytest_eos.virtual.primitives import VirtualEvent, VirtualLock, VirtualQueue, VirtualSpawned
from pytest_eos.virtual.scheduler import TICK, Scheduler

T = TypeVar("T")
EPOCH = 946_684_800.0
"""2000-01-01, the start of virtual time, so that its timestamps are not mistaken for real ones."""
PATIENCE = 3600.0


class VirtualRuntime:
    """Greenlets on the thread that created it, which is the participant "the test", and a virtual clock.

    With a seed, every call of the runtime may switch to another greenlet; the same seed gives the same interleaving.
    Without one (None or 0), each greenlet runs until it blocks, in the order in which they became ready. `patience`
    bounds, in virtual seconds, how long the test itself waits without a timeout; then DeadlockError lists what each
    greenlet waits for.
    """

    def __init__(self, seed: int | str | None = None, *, patience: float = PATIENCE) -> None:
        self._scheduler = Scheduler(seed, patience)

    def now(self) -> float:
        scheduler = self._scheduler
        scheduler.now += TICK
        return scheduler.now

    def wall(self) -> float:
        return EPOCH + self._scheduler.now

    def sleep(self, seconds: float) -> None:
        self._scheduler.wait(f"{seconds:g} s to pass", seconds)

    def event(self) -> Event:
        return VirtualEvent(self._scheduler)

    def lock(self) -> AbstractContextManager[object]:
        return VirtualLock(self._scheduler)

    def queue(self) -> Queue[T]:
        return VirtualQueue[T](self._scheduler)

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        return VirtualSpawned(self._scheduler, self._scheduler.spawn(name, target))

    def close(self) -> list[str]:
        """End all greenlets that still run and return their names. Nothing can wait on this clock afterwards."""
        return self._scheduler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
