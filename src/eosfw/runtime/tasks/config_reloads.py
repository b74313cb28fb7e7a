"""The restarts that are due when values of config providers expire (KIP-297, Kafka Connect's `HerderRequest`)."""

from __future__ import annotations

import heapq
import logging
from collections import defaultdict
from dataclasses import dataclass

from eosfw.concurrency import Runtime

logger = logging.getLogger(__name__)

_SHORTEST = 1.0
"""Seconds: a provider whose values never hold good must not have its connectors restarted all the time."""
_RETRY_PAUSE = 10.0
"""Seconds after which a restart that failed is tried again."""
_CONNECTOR = -1
"""In place of a task's number: the connector itself."""


@dataclass(frozen=True, slots=True)
class ExpiredConfig:
    """A connector whose values have expired: those of some of its tasks, of the connector itself, or of both."""

    connector: str
    tasks: tuple[int, ...]
    connector_itself: bool


class ConfigReloads:
    """When which connectors and tasks of a worker must be restarted; any thread.

    Each is there at most once: by the values with which it was started last.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._due: dict[tuple[str, int], float] = {}
        self._queue: list[tuple[float, str, int]] = []
        """A heap by time, so that a look costs nothing while nothing is due; those that `_due` has not are outdated."""

    def schedule(self, connector: str, task: int | None, ttl: float | None) -> None:
        """Have a task, or a connector itself (None), restarted after so many seconds; None: never."""
        key = (connector, _CONNECTOR if task is None else task)
        with self._lock:
            self._due.pop(key, None)
            if ttl is not None:
                self._add(key, self._runtime.now() + max(ttl, _SHORTEST))

    def retry(self, expired: ExpiredConfig) -> None:
        """Have it restarted later, since it could not be restarted now."""
        at = self._runtime.now() + _RETRY_PAUSE
        with self._lock:
            for task in (*expired.tasks, *([_CONNECTOR] if expired.connector_itself else [])):
                self._add((expired.connector, task), at)

    def _add(self, key: tuple[str, int], at: float) -> None:
        self._due[key] = at
        heapq.heappush(self._queue, (at, *key))

    def take_due(self) -> list[ExpiredConfig]:
        """What must be restarted now; it is not returned again."""
        found = defaultdict[str, list[int]](list)
        with self._lock:
            while self._queue and self._queue[0][0] <= self._runtime.now():
                at, connector, task = heapq.heappop(self._queue)
                if self._due.get((connector, task)) == at:
                    del self._due[connector, task]
                    found[connector].append(task)
        return [
            ExpiredConfig(connector, tuple(sorted(task for task in tasks if task != _CONNECTOR)), _CONNECTOR in tasks)
            for connector, tasks in found.items()
        ]
