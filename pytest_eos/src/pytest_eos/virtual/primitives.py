"""Block in virtual time: events, locks, queues, ends of what was spawned."""

from __future__ import annotations

from collections import deque
from typing import Generic, Self, TypeVar

from pytest_eos.virtual.scheduler import Participant, Scheduler

T = TypeVar("T")


class _Waited:
    """Something with participants that wait for it."""

    __slots__ = ("_scheduler", "_waiting")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiting: list[Participant] = []

    def _wait(self, timeout: float | None) -> bool:
        me = self._scheduler.current
        self._waiting.append(me)
        try:
            return self._scheduler.wait(self, timeout)
        finally:
            if me in self._waiting:
                self._waiting.remove(me)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            self._scheduler.wake(one)


class VirtualEvent(_Waited):
    """A flag that stays up."""

    __slots__ = ("_up",)

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._up = False

    def set(self) -> None:
        self._up = True
        if self._waiting:
            self._wake()
        self._scheduler.let_others()

    def is_set(self) -> bool:
        self._scheduler.let_others()
        return self._up

    def wait(self, timeout: float | None = None) -> bool:
        if self._up:
            self._scheduler.let_others()
        else:
            self._wait(timeout)
        return self._up

    def __str__(self) -> str:
        return "an event"


class VirtualLock(_Waited):
    """A re-entrant lock; whoever takes it may be preceded by others."""

    __slots__ = ("_depth", "_owner")

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._owner: Participant | None = None
        self._depth = 0

    def __enter__(self) -> Self:
        scheduler = self._scheduler
        if self._owner is not scheduler.current:
            scheduler.let_others()
            while self._owner is not None:
                self._wait(None)
            self._owner = scheduler.current
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            if self._waiting:
                self._wake()

    def __str__(self) -> str:
        return f"a lock that {self._owner.name} holds" if self._owner else "a lock"


class VirtualQueue(_Waited, Generic[T]):
    """An unbounded queue."""

    __slots__ = ("_items",)

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._items: deque[T] = deque()

    def put(self, item: T) -> None:
        self._items.append(item)
        if self._waiting:
            self._wake()
        self._scheduler.let_others()

    def get(self, timeout: float | None = None) -> T:
        scheduler = self._scheduler
        scheduler.let_others()
        deadline = None if timeout is None else scheduler.now + timeout
        while not self._items:
            left = None if deadline is None else deadline - scheduler.now
            # Whoever came too late for the item it was woken for waits on, not longer than in all.
            if not self._wait(left) and not self._items:
                raise TimeoutError(f"nothing arrived within {timeout} s")
        return self._items.popleft()

    def __str__(self) -> str:
        return "an item of a queue"


class VirtualSpawned:
    """What was spawned, for others to wait for."""

    __slots__ = ("_scheduler", "_who", "name")

    def __init__(self, scheduler: Scheduler, who: Participant) -> None:
        self._scheduler, self._who, self.name = scheduler, who, who.name

    def join(self, timeout: float | None = None) -> bool:
        if not self._who.ended:
            me = self._scheduler.current
            self._who.on_end.append(me)
            try:
                self._scheduler.wait(f"the end of {self.name}", timeout)
            finally:
                self._who.on_end.remove(me)
        return self._who.ended

    def is_alive(self) -> bool:
        self._scheduler.let_others()
        return not self._who.ended
