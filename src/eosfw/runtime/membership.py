"""Say which tasks belong to this worker."""

from __future__ import annotations

from typing import Protocol

from eosfw.concurrency import Runtime
from eosfw.ids import ConnectorTaskId


class Membership(Protocol):
    """A worker's place in its group; thread-safe."""

    worker: str
    """This worker's name, as others read it in the config topic."""

    def is_assigned(self, task: ConnectorTaskId, generation: int) -> bool:
        """Whether the task, in this generation of its connector, belongs to this worker now."""


class SoleMember:
    """A group of one process: everything is assigned here until it is replaced or revoked.

    Whether another process took the group over is not known here; the config topic read to its end says so.
    """

    def __init__(self, worker: str, runtime: Runtime) -> None:
        self.worker = worker
        self._lock = runtime.lock()
        self._assigned: dict[str, tuple[int, int]] = {}

    def assign(self, connector: str, generation: int, tasks: int) -> None:
        """Take over all tasks of a connector's generation, giving up those of earlier ones."""
        with self._lock:
            self._assigned[connector] = (generation, tasks)

    def revoke(self, connector: str) -> None:
        """Give up a connector's tasks."""
        with self._lock:
            self._assigned.pop(connector, None)

    def is_assigned(self, task: ConnectorTaskId, generation: int) -> bool:
        with self._lock:
            mine, count = self._assigned.get(task.connector, (None, 0))
            return mine == generation and task.task < count
