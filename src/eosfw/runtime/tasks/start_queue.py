"""The order in which the tasks of a worker start: a few at a time (Kafka Connect's `START_STOP_THREAD_POOL_SIZE`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eosfw.concurrency import Runtime
from eosfw.runtime.tasks.control import TaskControl

AT_ONCE = 8
LONGEST_TURN = 1.0
"""Seconds after which a start that is not over keeps nobody waiting: it may wait for its cluster, or be asleep."""


class StartQueue:
    """Gives each start its turn, in the order in which they ask; any thread.

    When a worker is lost, hundreds of tasks move to another one at the same time. Together they would keep its threads
    from the processor, the one that sends heartbeats among them, and the leader from all other requests.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        """Guards both; never held while a start is under way, or waits."""
        self._began: dict[TaskControl, float] = {}
        """When the turn of each task that starts began."""
        self._waiting: dict[TaskControl, None] = {}

    @contextmanager
    def turn(self, control: TaskControl) -> Iterator[bool]:
        """Wait for a turn, and have it for a block; False for a task that is asked to stop, which waits no longer."""
        self._enter(control)
        try:
            yield not control.stopping
        finally:
            self._leave(control)

    def _enter(self, control: TaskControl) -> None:
        with self._lock:
            self._waiting[control] = None
        while not control.stopping:
            changed = control.changed  # before the look: what happens after it sets this very event
            with self._lock:
                is_next = next(iter(self._waiting)) is control
                if is_next and self._has_room():
                    self._begin(control)
                    break
            changed.wait(LONGEST_TURN if is_next else None)
        self._call_next()

    def _has_room(self) -> bool:
        now = self._runtime.now()
        return sum(now - began < LONGEST_TURN for began in self._began.values()) < AT_ONCE

    def _begin(self, control: TaskControl) -> None:
        del self._waiting[control]
        self._began[control] = self._runtime.now()

    def _leave(self, control: TaskControl) -> None:
        with self._lock:
            self._began.pop(control, None)
            self._waiting.pop(control, None)
        self._call_next()

    def _call_next(self) -> None:
        with self._lock:
            following = next(iter(self._waiting), None)
        if following is not None:
            following.wake()
