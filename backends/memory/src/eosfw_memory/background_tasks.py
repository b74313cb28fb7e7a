"""Run what a broker does by itself, each duty in its own rhythm."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from eosfw_memory.interceptors import BrokerStoppedError

_LOG = logging.getLogger(__name__)
_IDLE_MS = 60_000
"""How long to wait when there is nothing to do at all."""
_REST_MS = 1_000
"""How often a duty that rests looks whether there is something again: nobody tells it."""


@dataclass(slots=True)
class BackgroundTask:
    """One thing to do again and again; it gets the time, in milliseconds since 1970."""

    name: str
    interval_ms: int
    run: Callable[[int], None]
    due_ms: int
    rests: Callable[[], bool] = lambda: False
    """Whether there is nothing to do it for; then it comes once a second at most."""

    def next_ms(self) -> int:
        """How long until it comes again."""
        return max(self.interval_ms, _REST_MS) if self.rests() else self.interval_ms


class BackgroundTasks:
    """Everything a broker does by itself. Callers hold the broker's lock; clocks and threads are theirs, too."""

    def __init__(self) -> None:
        self._all: list[BackgroundTask] = []

    def add(
        self,
        name: str,
        interval_ms: int,
        run: Callable[[int], None],
        now_ms: int,
        rests: Callable[[], bool] = lambda: False,
    ) -> None:
        """Do something every so often, for the first time after one interval; less often while it `rests`."""
        task = BackgroundTask(name, interval_ms, run, 0, rests)
        task.due_ms = now_ms + task.next_ms()
        self._all.append(task)

    def run(self, now_ms: int) -> None:
        """Do what is due. One that fails is logged and comes again: the others must go on.

        Raise BrokerStoppedError where an interceptor stops the broker.
        """
        for task in self._all:
            if task.due_ms <= now_ms:
                task.due_ms = now_ms + task.next_ms()
                try:
                    task.run(now_ms)
                except BrokerStoppedError:
                    raise
                except Exception:  # noqa: BLE001 the next round must come
                    _LOG.exception("%s failed; the next attempt comes in %d ms", task.name, task.interval_ms)

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Let no duty wait for longer than its interval, though the clock may have gone back."""
        for task in self._all:
            task.due_ms = min(task.due_ms, now_ms + task.next_ms())

    def wait_ms(self, now_ms: int) -> int:
        """How long until something is due."""
        return max(0, min((task.due_ms - now_ms for task in self._all), default=_IDLE_MS))
