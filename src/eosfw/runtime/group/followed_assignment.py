"""The part of a membership that every worker plays: it runs what is assigned to it, and stops the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eosfw.runtime.group.protocols import Assignment, TaskRunner
from eosfw.runtime.group.services import MembershipServices
from eosfw.runtime.group.worker_coordinator import WorkerCoordinator
from eosfw.state.group.assignment import ClusterAssignment
from eosfw.state.group.local_tasks import LocalTasks, local_tasks, plan_changes
from eosfw.state.storage.config_log import ConnectorEntry

_NOTHING: LocalTasks = {}


@dataclass(frozen=True, slots=True)
class _Followed:
    """What was followed last: while all of it is the same, nothing has to be compared task by task."""

    dropped: int
    assignment: ClusterAssignment
    connectors: Mapping[str, ConnectorEntry]

    def is_of(self, dropped: int, assignment: ClusterAssignment, connectors: Mapping[str, ConnectorEntry]) -> bool:
        return self.dropped == dropped and self.assignment is assignment and self.connectors is connectors


class FollowedAssignment:
    """Stops and starts tasks of this worker; `follow` is for one thread, `drop` for any."""

    def __init__(self, runner: TaskRunner, services: MembershipServices, coordinator: WorkerCoordinator) -> None:
        self._runner, self._coordinator = runner, coordinator
        self._worker = services.settings.worker
        self._lock = services.runtime.lock()
        """Never held while tasks stop or start: `drop`, on the coordinator's thread, must not wait for them."""
        self._running: LocalTasks = _NOTHING
        self._dropped = 0
        self._followed: _Followed | None = None
        self.acknowledged = 0
        """The newest assignment that revoked tasks of this worker, once they have stopped."""

    def follow(self, assignment: ClusterAssignment, connectors: Mapping[str, ConnectorEntry]) -> None:
        """Run what an assignment gives to this worker, in the newest generation of each connector."""
        if not self._coordinator.joined:
            return
        with self._lock:
            running, dropped = self._running, self._dropped
            if self._followed is not None and self._followed.is_of(dropped, assignment, connectors):
                return
        wanted = local_tasks(assignment.tasks_of(self._worker), connectors)
        change = plan_changes(running, wanted)
        if change.stop:  # all at once, with one timeout: many tasks that hang must not add up (FEN-12)
            self._runner.stop_tasks(change.stop)
        # After the stops: a task's new generation would fence the old one in the middle of its batch.
        for one in change.start:
            self._runner.start_generation(Assignment(one.connector, one.generation, one.tasks))
        with self._lock:
            if self._dropped == dropped:
                self._running = wanted
                self._followed = _Followed(dropped, assignment, connectors)
                self._acknowledge(assignment)
                return
        self._runner.stop_at_once()  # put out of the group meanwhile: what was started belongs to others

    def drop(self) -> None:
        """Stop everything and wait for nothing: others may run these tasks now."""
        with self._lock:
            self._running = _NOTHING
            self._dropped += 1
        self._runner.stop_at_once()

    def _acknowledge(self, assignment: ClusterAssignment) -> None:
        numbers = [one.number for one in assignment.revoked.values() if one.worker == self._worker]
        self.acknowledged = max([self.acknowledged, *numbers])
