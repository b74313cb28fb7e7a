"""The only member of a worker group of one process: all tasks are its own, and no coordinator is asked."""

from __future__ import annotations

from typing import Protocol

from eosfw.concurrency import Runtime
from eosfw.errors import IllegalStateError
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.group.protocols import Assignment


class GenerationRunner(Protocol):
    """Runs all tasks of a connector; a part of the `TaskExecutor`."""

    def start_generation(self, assignment: Assignment, *, paused: bool = False) -> None:
        """Start tasks of a generation; do not wait."""

    def stop_generation(self, connector: str) -> None:
        """Stop a connector's tasks; those that do not stop in time are left behind and reported as zombies."""


class SoleMember:
    """The `TaskOwner` of `eosfw run`: every task is its own until its generation is replaced or its connector removed.

    Whether another process took the group over is not known here; the config topic read to its end says so.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock()
        self._runner: GenerationRunner | None = None
        self._assignments: dict[str, Assignment] = {}

    def join(self, runner: GenerationRunner) -> None:
        """From now on have the tasks of new generations run."""
        self._runner = runner

    def leave(self) -> None:
        """Nothing is assigned to this worker any more."""
        with self._lock:
            self._assignments.clear()

    def on_new_generation(self, assignment: Assignment) -> None:
        """Called after a generation was committed; `assignment` holds all of its tasks."""
        runner = self._joined()
        # The old tasks stop first: a new task that starts beside them would fence their last commits. The assignment
        # comes before the start, since a task checks it.
        runner.stop_generation(assignment.connector)
        with self._lock:
            self._assignments[assignment.connector] = assignment
        runner.start_generation(assignment)

    def on_removal(self, connector: str) -> None:
        """Called after a connector was deleted."""
        with self._lock:
            self._assignments.pop(connector, None)
        self._joined().stop_generation(connector)

    def is_assigned(self, task: ConnectorTaskId, generation: int) -> bool:
        with self._lock:
            assignment = self._assignments.get(task.connector)
        return assignment is not None and assignment.generation == generation and task.task in assignment.tasks

    def _joined(self) -> GenerationRunner:
        if self._runner is None:
            raise IllegalStateError("the worker has not joined its group: start it first")
        return self._runner
