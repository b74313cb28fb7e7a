"""Events, locks, queues and threads in virtual time."""

from __future__ import annotations

from collections import deque
from typing import Generic, Self, TypeVar

from pytest_eos.virtual.scheduler import Participant, Process, Scheduler

T = TypeVar("T")


class _Waitable:
    """An object that participants wait for."""

    __slots__ = ("_scheduler", "_waiting")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiting: list[Participant] = []

    def _wait(self, timeout: float | None) -> bool:
        participant = self._scheduler.current
        self._waiting.append(participant)
        try:
            return self._scheduler.wait(self, timeout)
        finally:
            # It is still there if the timeout ended its wait: `_wake` takes out whom it wakes.
            if participant in self._waiting:
                self._waiting.remove(participant)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            self._scheduler.wake(one)


class VirtualEvent(_Waitable):
    """A flag that stays set."""

    __slots__ = ("_up",)

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._up = False

    def set(self) -> None:
        self.raise_flag()
        self._scheduler.yield_turn()

    def raise_flag(self) -> None:
        """Set the flag, and go on: no other participant runs before the next call."""
        self._up = True
        if self._waiting:
            self._wake()

    def is_set(self) -> bool:
        self._scheduler.yield_turn()
        return self._up

    def wait(self, timeout: float | None = None) -> bool:
        if self._up:
            self._scheduler.yield_turn()
        else:
            self._wait(timeout)
        return self._up

    def __str__(self) -> str:
        return "an event"


class VirtualLock(_Waitable):
    """A re-entrant lock; it gives no order to those that wait for it."""

    __slots__ = ("_depth", "_owner", "_process")

    def __init__(self, scheduler: Scheduler, process: Process | None = None) -> None:
        super().__init__(scheduler)
        self._process = process
        self._owner: Participant | None = None
        self._depth = 0

    def __enter__(self) -> Self:
        scheduler = self._scheduler
        if self._owner is not scheduler.current:
            scheduler.yield_turn()
            while self._owner is not None:
                self._wait(None)
            self._owner = owner = scheduler.current
            if owner.process is not self._process:
                owner.borrowed += 1
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            owner, self._owner = self._owner, None
            if owner is not None and owner.process is not self._process:
                owner.borrowed -= 1
            if self._waiting:
                self._wake()

    def __str__(self) -> str:
        return f"a lock that {self._owner.name} holds" if self._owner else "a lock"


class VirtualQueue(_Waitable, Generic[T]):
    """An unbounded queue."""

    __slots__ = ("_items",)

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._items: deque[T] = deque()

    def put(self, item: T) -> None:
        self._items.append(item)
        if self._waiting:
            self._wake()
        self._scheduler.yield_turn()

    def get(self, timeout: float | None = None) -> T:
        scheduler = self._scheduler
        scheduler.yield_turn()
        deadline = None if timeout is None else scheduler.now + timeout
        while not self._items:
            left = None if deadline is None else deadline - scheduler.now
            # Another participant may have taken the item before this one ran: wait again, for the rest of the timeout.
            if not self._wait(left) and not self._items:
                raise TimeoutError(f"nothing arrived within {timeout} s")
        return self._items.popleft()

    def __str__(self) -> str:
        return "an item of a queue"


class VirtualSpawned:
    """A spawned greenlet that others can join."""

    __slots__ = ("_participant", "_scheduler", "name")

    def __init__(self, scheduler: Scheduler, participant: Participant) -> None:
        self._scheduler, self._participant, self.name = scheduler, participant, participant.name

    def join(self, timeout: float | None = None) -> bool:
        if not self._participant.ended:
            participant = self._scheduler.current
            self._participant.joiners.append(participant)
            try:
                self._scheduler.wait(f"the end of {self.name}", timeout)
            finally:
                self._participant.joiners.remove(participant)
        return self._participant.ended

    def is_alive(self) -> bool:
        self._scheduler.yield_turn()
        return not self._participant.ended
