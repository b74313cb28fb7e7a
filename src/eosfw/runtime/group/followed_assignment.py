"""The part of a membership that every worker plays: it runs what is assigned to it, and stops the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eosfw.ids import ConnectorTaskId
from eosfw.runtime.group.protocols import Assignment, ConnectorConfigs, TaskRunner
from eosfw.runtime.group.services import MembershipServices
from eosfw.runtime.group.worker_coordinator import WorkerCoordinator
from eosfw.state.group.assignment import ClusterAssignment
from eosfw.state.group.local_tasks import LocalChange, LocalTasks, by_connector, local_tasks, plan_changes

_NOTHING: LocalTasks = {}


class FollowedAssignment:
    """Stops and starts tasks of this worker; `follow` is for one thread, `drop` for any."""

    def __init__(self, runner: TaskRunner, services: MembershipServices, coordinator: WorkerCoordinator) -> None:
        self._runner, self._coordinator = runner, coordinator
        self._worker = services.settings.worker
        self._lock = services.runtime.lock()
        """Never held while tasks stop or start: `drop`, on the coordinator's thread, must not wait for them."""
        self._running: LocalTasks = _NOTHING
        self._dropped = 0
        self._followed: tuple[ClusterAssignment, int] | None = None
        """The assignment that was followed last, and how often everything had been dropped before."""
        self._version = 0
        """The version of the config topic that was followed last."""
        self._own: Mapping[str, Sequence[ConnectorTaskId]] = {}
        """What that assignment gives to this worker, by connector."""
        self.acknowledged = 0
        """The newest assignment that revoked tasks of this worker, once they have stopped."""

    def follow(self, assignment: ClusterAssignment, configs: ConnectorConfigs) -> None:
        """Run what an assignment gives to this worker, in the newest generation of each connector.

        It is called again and again: while the assignment is the same, only connectors that have changed are looked at.
        """
        changes = configs.changes_since(self._version)
        with self._lock:
            # Under the lock: a `drop` that has counted already may not have stopped what would be started here.
            if not self._coordinator.joined:
                return
            before, dropped = self._running, self._dropped
        is_same = self._followed is not None and self._followed[0] is assignment and self._followed[1] == dropped
        own = self._own if is_same else by_connector(assignment.tasks_of(self._worker))
        looked_at = [name for name in changes.names if name in own] if is_same else own
        if looked_at or not is_same:
            tasks = [task for name in looked_at for task in own[name]]
            running = {task: before[task] for task in tasks if task in before} if is_same else before
            wanted = local_tasks(tasks, configs.entry)
            self._change(plan_changes(running, wanted))
            with self._lock:
                is_member = self._dropped == dropped
                if is_member:
                    self._running = _replaced(before, running, wanted)
                    self._acknowledge(assignment)
            if not is_member:  # put out of the group meanwhile: what was started belongs to others
                self._runner.stop_at_once()
                return
        # Last of all: after an error the same is done again.
        self._followed, self._own, self._version = (assignment, dropped), own, changes.version

    def _change(self, change: LocalChange) -> None:
        if change.stop:  # all at once, with one timeout: many tasks that hang must not add up (FEN-12)
            self._runner.stop_tasks(change.stop)
        # After the stops: a task's new generation would fence the old one in the middle of its batch.
        for one in change.start:
            self._runner.start_generation(Assignment(one.connector, one.generation, one.tasks))

    def drop(self) -> None:
        """Stop everything and wait for nothing: others may run these tasks now."""
        with self._lock:
            self._running = _NOTHING
            self._dropped += 1
        self._runner.stop_at_once()

    def _acknowledge(self, assignment: ClusterAssignment) -> None:
        numbers = [one.number for one in assignment.revoked.values() if one.worker == self._worker]
        self.acknowledged = max([self.acknowledged, *numbers])


def _replaced(running: LocalTasks, before: LocalTasks, after: LocalTasks) -> LocalTasks:
    """What runs once some of it was replaced; the rest is copied without a look at each task."""
    found = dict(running)
    for task in before:
        del found[task]
    found.update(after)
    return found
