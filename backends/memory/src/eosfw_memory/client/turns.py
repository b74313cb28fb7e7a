"""Let many threads take turns at something that only one may do at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

from eosfw.concurrency import Event, Runtime


class Turns:
    """A turn may be held across a blocking call, which a lock may not."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._taken = False
        self._over: Event | None = None

    def turn(self, deadline: float) -> AbstractContextManager[bool]:
        """Hold the turn; False if somebody else holds it beyond the deadline."""
        return _Turn(self, deadline)

    def take(self, deadline: float) -> bool:
        """Take the turn, to be given back; False if somebody else holds it beyond the deadline."""
        while True:
            with self._lock:
                if not self._taken:
                    self._taken = True
                    return True
                over = self._over = self._over or self._runtime.event()
            left = deadline - self._runtime.now()
            if left <= 0 or not over.wait(left):
                return False

    def give(self) -> None:
        """Let the next one have the turn."""
        with self._lock:
            self._taken = False
            over, self._over = self._over, None
        if over is not None:
            over.set()


class _Turn:
    """One turn; a class, since a generator costs more than taking the turn."""

    __slots__ = ("_deadline", "_got", "_turns")

    def __init__(self, turns: Turns, deadline: float) -> None:
        self._turns = turns
        self._deadline = deadline

    def __enter__(self) -> bool:
        self._got = self._turns.take(self._deadline)
        return self._got

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._got:
            self._turns.give()
