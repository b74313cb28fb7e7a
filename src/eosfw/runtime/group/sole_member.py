"""The only member of a worker group of one process (Kafka Connect's `WorkerGroupMember`, without a coordinator)."""

from __future__ import annotations

from collections.abc import Collection

from eosfw.concurrency import Runtime
from eosfw.errors import IllegalStateError
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.group.protocols import Assignment, TaskRunner


class SoleMember:
    """Every task is assigned to this worker until its generation is replaced or its connector removed.

    Whether another process took the group over is not known here; the config topic read to its end says so.
    """

    def __init__(self, runtime: Runtime, url: str | None = None) -> None:
        self._url = url
        self._lock = runtime.lock()
        self._runner: TaskRunner | None = None
        self._assignments: dict[str, Assignment] = {}

    def join(self, runner: TaskRunner) -> None:
        self._runner = runner

    def leave(self) -> None:
        with self._lock:
            self._assignments.clear()

    def on_new_generation(self, assignment: Assignment) -> None:
        runner = self._joined()
        # The old tasks stop first: a new task that starts beside them would fence their last commits. The assignment
        # comes before the start, since a task checks it.
        runner.stop_generation(assignment.connector)
        with self._lock:
            self._assignments[assignment.connector] = assignment
        runner.start_generation(assignment)

    def on_removal(self, connector: str) -> None:
        with self._lock:
            self._assignments.pop(connector, None)
        self._joined().stop_generation(connector)

    def is_assigned(self, task: ConnectorTaskId, generation: int) -> bool:
        with self._lock:
            assignment = self._assignments.get(task.connector)
        return assignment is not None and assignment.generation == generation and task.task in assignment.tasks

    @property
    def generation(self) -> int:
        return 1

    def leads(self) -> bool:
        return self._runner is not None

    def leader_name(self) -> str | None:
        return "" if self.leads() else None

    def leader_url(self) -> str | None:
        return self._url

    def owner_url(self, task: ConnectorTaskId) -> str | None:
        return self._url if self.is_own(task) else None

    def workers(self) -> Collection[str]:
        return ("",) if self.leads() else ()

    def is_own(self, task: ConnectorTaskId) -> bool:
        with self._lock:
            assignment = self._assignments.get(task.connector)
        return assignment is not None and task.task in assignment.tasks

    def has_joined(self) -> bool:
        return self._runner is not None

    def rebalance_expected(self) -> bool:
        return False

    def _joined(self) -> TaskRunner:
        if self._runner is None:
            raise IllegalStateError("the worker has not joined its group: start it first")
        return self._runner
