"""The assignment of tasks to the workers of a group (Kafka Connect's `ConnectAssignor`).

Connect assigns connectors as well; here the leader runs all of them, so tasks alone are shared out. A task is named
without its generation, which every worker counts for itself: a new generation moves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from eosfw.ids import ConnectorTaskId

__all__ = ["ClusterAssignment", "GroupState", "LiveWorker", "LostTask", "RevokedTask", "WorkerShare", "assign"]

Tasks = frozenset[ConnectorTaskId]


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """What one worker runs, and where its REST interface is."""

    url: str | None = None
    tasks: Tasks = frozenset()


@dataclass(frozen=True, slots=True)
class RevokedTask:
    """A task that a worker has still to stop before another one gets it (KIP-415)."""

    worker: str
    number: int
    """The assignment that revoked it, which the worker acknowledges once the task has stopped."""
    until: int
    """When it is given away all the same, in milliseconds since the epoch: fencing makes that safe."""


@dataclass(frozen=True, slots=True)
class LostTask:
    """A task of a worker that is gone, and may come back to its tasks (KIP-415)."""

    worker: str
    url: str | None
    until: int
    """When another worker gets it, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class ClusterAssignment:
    """Who runs what, as the group's leader published it (Kafka Connect's `ClusterAssignment`)."""

    number: int = 0
    """Counts the assignments of a group."""
    leader: str = ""
    protocol: str = "sessioned"
    """`connect.protocol` of the leader."""
    workers: Mapping[str, WorkerShare] = field(default_factory=dict)
    """Every live worker, also those without tasks."""
    revoked: Mapping[ConnectorTaskId, RevokedTask] = field(default_factory=dict)
    lost: Mapping[ConnectorTaskId, LostTask] = field(default_factory=dict)

    def tasks_of(self, worker: str) -> Tasks:
        """The tasks of one worker."""
        return self.workers.get(worker, WorkerShare()).tasks

    def owner(self, task: ConnectorTaskId) -> str | None:
        """The worker that runs a task."""
        return next((name for name, share in self.workers.items() if task in share.tasks), None)

    @property
    def assigned(self) -> Tasks:
        """Every task that a worker runs."""
        return frozenset(task for share in self.workers.values() for task in share.tasks)


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """A member of the group, with what it said of itself."""

    name: str
    url: str | None
    acknowledged: int
    """The newest assignment whose revocations it has carried out."""
    assignable: bool
    """Whether it may run tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """What an assignment follows from."""

    leader: str
    configured: Tasks
    """Every task of every connector."""
    workers: Collection[LiveWorker]
    now: int
    """In milliseconds since the epoch, so that the next leader understands the deadlines."""
    protocol: str
    rebalance_timeout: int
    """`rebalance.timeout.ms`: how long a worker gets to stop what is revoked."""
    max_delay: int
    """`scheduled.rebalance.max.delay.ms`: how long tasks of a worker that is gone wait for it."""
    fenced: bool = True
    """Whether tasks of earlier generations are fenced; else tasks that are not configured any more are revoked as well,
    so that somebody can tell when the last one has stopped."""

    def may_hold(self, tasks: Collection[ConnectorTaskId]) -> Tasks:
        """Those of some tasks whose worker has to stop them before they are given away, or count as gone."""
        return frozenset(tasks) & self.configured if self.fenced else frozenset(tasks)


def assign(previous: ClusterAssignment, group: GroupState) -> ClusterAssignment:
    """The next assignment; the previous one, with its number, if nothing has to change."""
    planned = _assign_eagerly(previous, group) if group.protocol == "eager" else _assign_incrementally(previous, group)
    unchanged = replace(planned, number=previous.number) == previous
    return previous if unchanged else planned


# --- incremental cooperative (KIP-415) --------------------------------------------------------------------------------


def _assign_incrementally(previous: ClusterAssignment, group: GroupState) -> ClusterAssignment:
    """Kafka Connect's `IncrementalCooperativeAssignor`: what need not move goes on undisturbed."""
    kept = {one.name: set(previous.tasks_of(one.name) & group.configured) for one in group.workers}
    lost = _return_or_keep_lost(kept, _losses(previous, group), group)
    revoked = _unsettled(previous, group) | _removed(previous, group)
    free = group.configured - frozenset().union(*kept.values()) - lost.keys() - revoked.keys()
    _give(kept, free, group)
    # While tasks wait for their worker nothing else moves: what moved now might have to move back.
    for name, quota in _quotas(kept, len(revoked.keys() & group.configured), group, balanced=not lost).items():
        for task in sorted(kept[name], reverse=True)[: max(0, len(kept[name]) - quota)]:
            kept[name].remove(task)
            revoked[task] = RevokedTask(name, previous.number + 1, group.now + group.rebalance_timeout)
    return _planned(previous, group, kept, revoked, lost)


def _losses(previous: ClusterAssignment, group: GroupState) -> dict[ConnectorTaskId, LostTask]:
    """Every configured task that was not given away again since its worker went."""
    live = {one.name for one in group.workers}
    found = {
        task: replace(loss, until=_reachable(loss.until, group, group.max_delay))
        for task, loss in previous.lost.items()
        if task in group.configured
    }
    for name, share in previous.workers.items():
        if name not in live:
            loss = LostTask(name, share.url, group.now + group.max_delay)
            found |= dict.fromkeys(share.tasks & group.configured, loss)
    if live & previous.workers.keys():
        return found
    # Nobody is left of the group: there is nothing that a return would leave undisturbed.
    return {task: replace(loss, until=group.now) for task, loss in found.items()}


def _return_or_keep_lost(
    kept: dict[str, set[ConnectorTaskId]], losses: Mapping[ConnectorTaskId, LostTask], group: GroupState
) -> dict[ConnectorTaskId, LostTask]:
    """Give lost tasks to their worker if it is back; return those that wait on."""
    waiting = {}
    for task, loss in losses.items():
        back = [one.name for one in group.workers if one.assignable and _is_back(one, loss)]
        if back:
            kept[min(back)].add(task)
        elif loss.until > group.now:
            waiting[task] = loss
    return waiting


def _is_back(worker: LiveWorker, loss: LostTask) -> bool:
    """Whether a worker is the one that was lost: a process that was restarted has another name, but its URL."""
    return worker.name == loss.worker or (worker.url is not None and worker.url == loss.url)


def _quotas(
    kept: Mapping[str, Collection[ConnectorTaskId]], revoked: int, group: GroupState, *, balanced: bool
) -> dict[str, int]:
    """How many tasks each worker may keep; those that have most may keep one more, so that the fewest move."""
    may_run = [one.name for one in group.workers if one.assignable]
    quotas = {one.name: len(kept[one.name]) if one.assignable else 0 for one in group.workers}
    if balanced and may_run:
        each, rest = divmod(sum(map(len, kept.values())) + revoked, len(may_run))
        by_load = sorted(may_run, key=lambda name: (-len(kept[name]), name))
        quotas |= {name: each + (place < rest) for place, name in enumerate(by_load)}
    return quotas


# --- eager ------------------------------------------------------------------------------------------------------------


def _assign_eagerly(previous: ClusterAssignment, group: GroupState) -> ClusterAssignment:
    """Kafka Connect's `EagerAssignor`: after any change all tasks stop, then all are given."""
    revoked = _unsettled(previous, group)
    if not previous.revoked and not _has_changed(previous, group):
        return _planned(previous, group, {name: set(share.tasks) for name, share in previous.workers.items()})
    live = {one.name for one in group.workers}
    for name, share in previous.workers.items():
        if name in live:
            revocation = RevokedTask(name, previous.number + 1, group.now + group.rebalance_timeout)
            revoked |= dict.fromkeys(group.may_hold(share.tasks), revocation)
    given: dict[str, set[ConnectorTaskId]] = {name: set() for name in live}
    if not revoked:
        _give(given, group.configured, group)
    return _planned(previous, group, given, revoked)


def _has_changed(previous: ClusterAssignment, group: GroupState) -> bool:
    may_run = {one.name for one in group.workers if one.assignable}
    return (
        previous.workers.keys() != {one.name for one in group.workers}
        or previous.assigned != group.configured
        or any(share.tasks and name not in may_run for name, share in previous.workers.items())
        or _is_uneven([len(previous.tasks_of(name)) for name in may_run])
    )


def _is_uneven(loads: Collection[int]) -> bool:
    """Whether one more worker may run tasks than when they were given, which alone leaves them uneven."""
    return max(loads, default=0) - min(loads, default=0) > 1


# --- both -------------------------------------------------------------------------------------------------------------


def _unsettled(previous: ClusterAssignment, group: GroupState) -> dict[ConnectorTaskId, RevokedTask]:
    """Revoked tasks whose worker may still run them, and has time left to stop them."""
    acknowledged = {one.name: one.acknowledged for one in group.workers}
    held = group.may_hold(previous.revoked.keys())
    return {
        task: replace(one, until=_reachable(one.until, group, group.rebalance_timeout))
        for task, one in previous.revoked.items()
        if task in held and acknowledged.get(one.worker, one.number) < one.number and one.until > group.now
    }


def _removed(previous: ClusterAssignment, group: GroupState) -> dict[ConnectorTaskId, RevokedTask]:
    """Tasks that are not configured any more, if their workers have to say that they have stopped."""
    until = group.now + group.rebalance_timeout
    return {
        task: RevokedTask(one.name, previous.number + 1, until)
        for one in group.workers
        for task in group.may_hold(previous.tasks_of(one.name)) - group.configured
    }


def _reachable(until: int, group: GroupState, longest: int) -> int:
    """A deadline that is as far away as it can be: the leader that set it may have had a clock far ahead."""
    return min(until, group.now + longest)


def _give(held: Mapping[str, set[ConnectorTaskId]], free: Collection[ConnectorTaskId], group: GroupState) -> None:
    """Give each free task to the worker that has the fewest."""
    # Sorted, and of equal loads the first by name: the same inputs give the same assignment in any leader.
    may_run = sorted(one.name for one in group.workers if one.assignable)
    for task in sorted(free):
        if may_run:
            held[min(may_run, key=lambda name: len(held[name]))].add(task)


def _planned(
    previous: ClusterAssignment,
    group: GroupState,
    held: Mapping[str, Collection[ConnectorTaskId]],
    revoked: Mapping[ConnectorTaskId, RevokedTask] | None = None,
    lost: Mapping[ConnectorTaskId, LostTask] | None = None,
) -> ClusterAssignment:
    urls = {one.name: one.url for one in group.workers}
    return ClusterAssignment(
        number=previous.number + 1,
        leader=group.leader,
        protocol=group.protocol,
        workers={name: WorkerShare(urls[name], frozenset(tasks)) for name, tasks in held.items()},
        revoked=revoked or {},
        lost=lost or {},
    )
