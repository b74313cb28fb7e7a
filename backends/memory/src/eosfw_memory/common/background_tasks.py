"""Run what a broker does by itself, each task at an interval of its own: Kafka's `KafkaScheduler`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw_memory.common.interceptors import BrokerStoppedError

_LOG = logging.getLogger(__name__)
_NO_TASK_MS = 60_000
"""How long to wait when there is no task at all."""
_REST_MS = 1_000
"""How often a task that rests asks whether there is something to do: nothing notifies it."""
_STOP_SECONDS = 10.0


@dataclass(slots=True)
class BackgroundTask:
    """A function that is called at intervals, with the time in milliseconds since 1970."""

    name: str
    interval_ms: int
    run: Callable[[int], None]
    due_ms: int
    rests: Callable[[], bool] = lambda: False
    """Whether there is nothing to do; then the task runs once a second at most."""

    def next_ms(self) -> int:
        """How long until its next run."""
        return max(self.interval_ms, _REST_MS) if self.rests() else self.interval_ms


class BackgroundTasks:
    """All tasks of one broker. Callers hold the broker's lock and give the time."""

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
        """Add a task that runs for the first time after one interval, and less often while it `rests`."""
        task = BackgroundTask(name, interval_ms, run, 0, rests)
        task.due_ms = now_ms + task.next_ms()
        self._all.append(task)

    def run(self, now_ms: int) -> None:
        """Run the tasks that are due. A failure is logged, so that the other tasks run and this one runs again.

        Raises BrokerStoppedError where an interceptor stops the broker.
        """
        for task in self._all:
            if task.due_ms <= now_ms:
                # Before the run, so that a task which fails is not repeated at once.
                task.due_ms = now_ms + task.next_ms()
                try:
                    task.run(now_ms)
                except BrokerStoppedError:
                    raise
                except Exception:  # noqa: BLE001 one task's failure must not end all others
                    _LOG.exception("%s failed; the next attempt comes in %d ms", task.name, task.interval_ms)

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Let no task wait for longer than its interval."""
        for task in self._all:
            task.due_ms = min(task.due_ms, now_ms + task.next_ms())

    def wait_ms(self, now_ms: int) -> int:
        """How long until a task is due."""
        return max(0, min((task.due_ms - now_ms for task in self._all), default=_NO_TASK_MS))


class BackgroundThread:
    """Runs due tasks on a thread of its own, for a broker whose network does not."""

    def __init__(self, run_due: Callable[[], None], idle_seconds: Callable[[], float], runtime: Runtime) -> None:
        self._run_due = run_due
        self._idle_seconds = idle_seconds
        self._stop = runtime.event()
        self._thread = runtime.spawn("eosfw-broker", self._run)

    def close(self) -> None:
        """End the thread once the tasks that are running have ended."""
        self._stop.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(self._idle_seconds()):
            self._run_due()
