"""Offer virtual time as a `Runtime`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Self, TypeVar

from eosfw.concurrency import Event, Queue, Spawned
from pytest_eos.virtual.primitives import VirtualEvent, VirtualLock, VirtualQueue, VirtualSpawned
from pytest_eos.virtual.scheduler import TICK, Scheduler

T = TypeVar("T")
EPOCH = 946_684_800.0
"""2000-01-01: what virtual clocks show, so that nobody takes their timestamps for real ones."""
PATIENCE = 3600.0


class VirtualRuntime:
    """Greenlets on the thread that made it, which takes part as "the test"; a virtual clock.

    With a seed, interleavings are drawn by it at every call of the runtime; the same seed, the same interleaving.
    Without (None or 0), everybody goes on until blocked, first come, first served. `patience` bounds, in virtual
    seconds, how long the test itself waits where it gave no timeout: DeadlockError then says who waits for what.
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
        """End what was spawned and still runs; its names. Nothing can wait on this clock afterwards."""
        return self._scheduler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
