"""The only member of a worker group of one process (Kafka Connect's `WorkerGroupMember`, without a coordinator)."""

from __future__ import annotations

from eosfw.concurrency import Runtime
from eosfw.errors import IllegalStateError
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.worker_group import Assignment, TaskRunner


class SoleMember:
    """Every task is assigned to this worker until its generation is replaced or its connector removed.

    Whether another process took the group over is not known here; the config topic read to its end says so.
    """

    def __init__(self, runtime: Runtime) -> None:
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

    def _joined(self) -> TaskRunner:
        if self._runner is None:
            raise IllegalStateError("the worker has not joined its group: start it first")
        return self._runner
