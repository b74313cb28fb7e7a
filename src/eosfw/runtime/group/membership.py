"""A worker's place in a group of several processes (Kafka Connect's `WorkerGroupMember`)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from eosfw.closeables import run_all
from eosfw.errors import EosfwError, IllegalStateError
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import GroupConsumer
from eosfw.protocols.herder import GroupMember, MovingTask, WorkerGroup
from eosfw.runtime.group.followed_assignment import FollowedAssignment
from eosfw.runtime.group.leadership import GroupLeadership
from eosfw.runtime.group.protocols import ConnectorConfigs, TaskRunner
from eosfw.runtime.group.services import CLIENT_ID, MembershipServices
from eosfw.runtime.group.worker_coordinator import GroupTimeouts, WorkerCoordinator
from eosfw.runtime.group.worker_record_writer import WorkerRecordWriter
from eosfw.runtime.storage.kafka_based_log import READ_TIMEOUT
from eosfw.state.group.assignment import ClusterAssignment
from eosfw.state.group.configured_tasks import ConfiguredTasks
from eosfw.state.group.rebalances import Rebalances
from eosfw.state.group.support import group_support
from eosfw.state.storage.foreign_commits import ForeignCommits
from eosfw.text import quantity

logger = logging.getLogger(__name__)


class GroupMembership:
    """The place of one of several workers, the `TaskOwner` of its tasks.

    Being a member and being elected come from the group's coordinator; who runs which task comes from the members
    topic, where the leader publishes it. `on_config_update` is called by one thread, again and again: that is when this
    worker acts. The other methods are for any thread.
    """

    def __init__(self, services: MembershipServices) -> None:
        self._services, self._settings = services, services.settings
        self._members = services.members
        timeouts = GroupTimeouts(self._settings.session_timeout, self._settings.rebalance_timeout)
        self._coordinator = WorkerCoordinator(
            self._connect, self._members.partition, timeouts, services.runtime, self._on_lost
        )
        self._leadership = GroupLeadership(services, self._coordinator)
        self._own_record = WorkerRecordWriter(services)
        self._foreign_commits = ForeignCommits(self._settings.session_timeout)
        self._followed: FollowedAssignment | None = None
        self._version = 0
        """The version of the config topic up to which `_configured` is."""
        self._configured = ConfiguredTasks()
        self._moving: tuple[ClusterAssignment, frozenset[ConnectorTaskId], bool] | None = None
        """Whether tasks were about to move by this assignment and these tasks, so that it is computed once."""
        self.rebalances = Rebalances()
        """Those that this worker took part in; replaced as a whole, so any thread may read it."""

    # --- life in the group

    def join(self, runner: TaskRunner) -> None:
        """Join the group; from now on tell the runner which tasks to start and to stop."""
        self._followed = FollowedAssignment(runner, self._services, self._coordinator)
        self._coordinator.join(READ_TIMEOUT)

    def leave(self) -> None:
        """Leave the group: nothing is assigned to this worker any more."""
        run_all(self._coordinator.close, self._leadership.close, self._own_record.close, self._members.close)

    def on_config_update(self, configs: ConnectorConfigs) -> None:
        """Act on what is new; called after the config topic was read, again and again."""
        followed = self._joined()
        changes = configs.changes_since(self._version)
        changed = {name: configs.entry(name) for name in changes.names}
        self._version = changes.version
        self._configured.update(changed)
        self._members.read_decided()
        leader, now = self._members.assignment.leader, self._services.runtime.now()
        for problem in self._foreign_commits.look(changed, self._members.workers(), leader, now):
            logger.error("group %s: %s", self._settings.group_id, problem)
        # First of all: a leader before may have left a transaction open, which others would wait for.
        self._leadership.run(self._configured.tasks)
        found = self._members.assignment
        self._note_rebalance(found)
        followed.follow(found, configs)
        self._note_rebalanced(found)
        if self._coordinator.joined:
            self._own_record.write_if_changed(followed.acknowledged)

    def confirm_leadership(self) -> None:
        """Raise NotLeaderError unless the group's coordinator says now that this worker was elected."""
        self._leadership.confirm(READ_TIMEOUT)

    # --- what is known

    def is_assigned(self, task: ConnectorTaskId, generation: int) -> bool:
        # Generations are counted by each process: the caller compares them by the config topic (FEN-10).
        patience = self._settings.session_timeout + self._settings.rebalance_timeout
        if not self._coordinator.confirm(patience):
            return False
        # Read after the coordinator's answer: an assignment that came before it is seen.
        self._members.read_to_end()
        return task in self._members.assignment.tasks_of(self._settings.worker)

    @property
    def generation(self) -> int:
        """Counts the rebalances of the group; workers report states of tasks with it (Connect's `generation`)."""
        return self._members.assignment.number

    def leads(self) -> bool:
        """Whether this worker leads the group, as far as it knows."""
        return self._leadership.leads

    def leader_name(self) -> str | None:
        """The name of the leader's worker, another one after each start; None if nobody leads."""
        return self._members.assignment.leader or None

    def leader_url(self) -> str | None:
        """The URL of the leader's REST interface; None if nobody leads or the leader has none."""
        return self._url(self._members.assignment.leader)

    def owner_url(self, task: ConnectorTaskId) -> str | None:
        """The URL of the REST interface of the worker that runs a task; None if nobody does."""
        owner = self._members.assignment.owner(task)
        return None if owner is None else self._url(owner)

    def workers(self) -> Collection[str]:
        """The names of the workers that take part in the newest assignment, this one among them."""
        return self._members.assignment.workers.keys()

    def group(self) -> WorkerGroup:
        """The group by the newest assignment, and what its workers say of themselves."""
        found, known = self._members.assignment, self._members.workers()
        members = [
            GroupMember(name, share.url, sorted(share.tasks), known[name].support, known[name].version)
            for name, share in sorted(found.workers.items())
            if name in known
        ]
        moving = [MovingTask(task, one.worker, gone=False, until=one.until) for task, one in found.revoked.items()]
        moving += [MovingTask(task, one.worker, gone=True, until=one.until) for task, one in found.lost.items()]
        support = group_support(self.modes())
        return WorkerGroup(
            group_id=self._settings.group_id,
            generation=found.number,
            leader=found.leader or None,
            protocol=found.protocol,
            rebalancing=self.rebalance_expected(),
            members=members,
            moving=sorted(moving, key=lambda one: one.id),
            notice=support.problem or support.mixture,
        )

    def modes(self) -> Mapping[str, str]:
        """By worker that takes part in the newest assignment, its `exactly.once.source.support`."""
        known = self._members.workers()
        return {name: known[name].support for name in self.workers() if name in known}

    def is_own(self, task: ConnectorTaskId) -> bool:
        """Whether the task is assigned to this worker, as far as it knows; asks nobody."""
        return self._coordinator.joined and task in self._members.assignment.tasks_of(self._settings.worker)

    def has_joined(self) -> bool:
        """Whether the newest assignment counts this worker in, as far as it knows."""
        return self._coordinator.joined and self._settings.worker in self._members.assignment.workers

    def join_error(self) -> EosfwError | None:
        """Why the worker cannot join its group; None once it can."""
        return self._coordinator.error

    def has_tasks_of(self, connector: str) -> bool:
        """Whether a worker runs tasks of a connector by the newest assignment, or has yet to stop them."""
        found = self._members.assignment
        return any(task.connector == connector for task in (*found.assigned, *found.revoked))

    def rebalance_expected(self) -> bool:
        """Whether tasks are about to move, so that what is known of owners may be outdated."""
        found, configured = self._members.assignment, self._configured.tasks
        known = self._moving
        if known is None or known[0] is not found or known[1] is not configured:
            moving = bool(found.revoked) or not configured <= found.assigned | found.lost.keys()
            known = self._moving = (found, configured, moving)
        return not self._coordinator.joined or known[2]

    # --- inside

    def _note_rebalance(self, found: ClusterAssignment) -> None:
        if found.number != self.rebalances.assignment or self.rebalance_expected():
            self.rebalances = self.rebalances.begun(self._services.runtime.now())

    def _note_rebalanced(self, found: ClusterAssignment) -> None:
        is_new = found.number != self.rebalances.assignment
        is_over = self.rebalances.began is not None and not self.rebalance_expected()
        worker = self._settings.worker
        if self._coordinator.joined and worker in found.workers and (is_new or is_over):
            self.rebalances = self.rebalances.followed(found.number, self._services.runtime.now())
            tasks = quantity(len(found.tasks_of(worker)), "task")
            logger.info("worker %s runs %s by assignment %d of %s", worker, tasks, found.number, found.leader)

    def _url(self, worker: str) -> str | None:
        share = self._members.assignment.workers.get(worker)
        return None if share is None else share.url

    def _connect(self) -> GroupConsumer:
        settings = self._settings
        return self._services.backend.group_consumer(
            settings.group_id,
            self._members.partition.topic,
            client_id=CLIENT_ID + settings.worker,
            session_timeout=settings.session_timeout,
            rebalance_timeout=settings.rebalance_timeout,
            properties=settings.client_properties,
        )

    def _on_lost(self) -> None:
        self._joined().drop()
        self._services.wake()

    def _joined(self) -> FollowedAssignment:
        if self._followed is None:
            raise IllegalStateError("the worker has not joined its group: start it first")
        return self._followed
