"""Let many threads take turns at something that only one may do at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eosfw.waiting import Event, Runtime


class Turns:
    """A turn may be held across a blocking call, which a lock may not."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._taken = False
        self._over: Event | None = None

    @contextmanager
    def turn(self, deadline: float) -> Iterator[bool]:
        """Hold the turn; False if somebody else holds it beyond the deadline."""
        got = self._take(deadline)
        try:
            yield got
        finally:
            if got:
                self._give()

    def _take(self, deadline: float) -> bool:
        while True:
            with self._lock:
                if not self._taken:
                    self._taken = True
                    return True
                over = self._over = self._over or self._runtime.event()
            left = deadline - self._runtime.now()
            if left <= 0 or not over.wait(left):
                return False

    def _give(self) -> None:
        with self._lock:
            self._taken = False
            over, self._over = self._over, None
        if over is not None:
            over.set()
