"""What other threads ask of a running task: run, pause, stop (Kafka Connect's `WorkerTask.transitionTo`)."""

from __future__ import annotations

import math
from collections.abc import Callable

from eosfw.concurrency import Event, Runtime


class TaskControl:
    """The target state of one task; thread-safe. A stop is for good, a pause until it is resumed."""

    def __init__(self, runtime: Runtime, *, paused: bool = False) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        """Guards the state and its event; never held during a wait."""
        self._changed: Event = runtime.event()
        """Set, and replaced, at every change."""
        self._paused = paused
        self._stopping = False

    @property
    def running(self) -> bool:
        """Whether the task shall poll: it was asked neither to pause nor to end."""
        return not (self._paused or self._stopping)

    @property
    def stopping(self) -> bool:
        """Whether the task was asked to end."""
        return self._stopping

    @property
    def paused(self) -> bool:
        """Whether the task was asked to pause, and not to end."""
        return self._paused and not self._stopping

    def stop(self) -> None:
        """Ask the task to end."""
        self._change(paused=self._paused, stopping=True)

    def pause(self) -> None:
        """Ask the task to pause."""
        self._change(paused=True, stopping=self._stopping)

    def resume(self) -> None:
        """Ask the task to go on."""
        self._change(paused=False, stopping=self._stopping)

    @property
    def changed(self) -> Event:
        """Set at the next change of what is asked of the task, and when it is woken."""
        return self._changed

    def wake(self) -> None:
        """Set `changed`, though nothing else is asked of the task."""
        with self._lock:
            changed, self._changed = self._changed, self._runtime.event()
        changed.set()

    def _change(self, *, paused: bool, stopping: bool) -> None:
        with self._lock:
            self._paused, self._stopping = paused, stopping
        self.wake()

    def rest(self, timeout: float) -> None:
        """Wait, unless or until the task is asked for something else than to run."""
        self._wait(lambda: not self.running, timeout)

    def wait_for_stop(self, timeout: float) -> bool:
        """Wait, unless or until the task is asked to end; return whether it was. A pause is left for later."""
        self._wait(lambda: self._stopping, timeout)
        return self._stopping

    def await_resumption(self) -> bool:
        """Wait while the task is paused; return whether it shall go on, not end (Connect's `awaitUnpause`)."""
        self._wait(lambda: not self.paused, math.inf)
        return not self._stopping

    def _wait(self, is_over: Callable[[], bool], timeout: float) -> None:
        deadline = self._runtime.now() + timeout
        while (left := deadline - self._runtime.now()) > 0:
            # State and event together: a change right after the look sets the very event that is waited for.
            with self._lock:
                changed = self._changed
                if is_over():
                    return
            changed.wait(None if left == math.inf else left)
