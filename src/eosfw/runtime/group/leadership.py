"""The part of a membership that the elected leader plays (Kafka Connect's `WorkerCoordinator.LeaderState`)."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping

from eosfw.errors import NotLeaderError, RecordTooLargeError
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import Admin
from eosfw.runtime.group.services import MembershipServices, live_workers
from eosfw.runtime.group.worker_coordinator import WorkerCoordinator
from eosfw.state.group.assignment import ClusterAssignment, GroupState, LiveWorker, assign
from eosfw.state.group.member_records import WorkerRecord, assignment_record, worker_removal
from eosfw.state.group.support import GroupSupport, group_support

logger = logging.getLogger(__name__)

LOOK = 0.5
"""Seconds between two looks at who is alive."""
_REST_PER_PUBLICATION = 10
"""How many times as long as it took to publish an assignment the next one waits: each holds all tasks of the group, so
one for each of a thousand connectors that start together would cost every worker more than the start itself."""
_LONGEST_REST = 1.0


class GroupLeadership:
    """Publishes assignments while this worker is elected; its methods are called by one thread.

    The coordinator's word makes a leader, the transactional id keeps it one: whoever was elected next has fenced it.
    """

    def __init__(self, services: MembershipServices, coordinator: WorkerCoordinator) -> None:
        self._services, self._coordinator = services, coordinator
        self._term: int | None = None
        """The election for which the privilege to write was claimed."""
        self._alive: frozenset[str] = frozenset()
        self._look_at = self._publish_at = 0.0
        self._admin: Admin | None = None
        self._reported: GroupSupport | None = None
        self._too_large: str | None = None
        """Why the newest assignment could not be published; None once it can."""
        self._settled: tuple[ClusterAssignment, frozenset[ConnectorTaskId], Mapping[str, WorkerRecord]] | None = None
        """An assignment, with the tasks and workers for which it needs no change until `_settled_until`."""
        self._settled_until = 0.0
        """When tasks that wait for their worker are given away, by the runtime's `now`, which nobody sets back."""

    @property
    def leads(self) -> bool:
        """Whether this worker was elected and has claimed the privilege to write since."""
        return self._term is not None and self._term == self._coordinator.term

    def run(self, configured: frozenset[ConnectorTaskId]) -> None:
        """Publish an assignment of these tasks if one is due, as the leader; else nothing."""
        if self._coordinator.term is None:
            self._term = None
            return
        if not self.leads:
            self._claim()
        if self.leads:
            try:
                self._lead(configured)
            except BaseException:
                # The privilege may be gone with it: claim it again, unless somebody else was elected (LDR-04).
                self._term = None
                raise

    def close(self) -> None:
        """Close the client."""
        if self._admin is not None:
            self._admin.close()

    def confirm(self, timeout: float) -> None:
        """Raise NotLeaderError unless the group's coordinator says now that this worker is elected."""
        if not self._coordinator.confirm(timeout) or self._coordinator.term is None:
            raise NotLeaderError("this worker does not lead its group any more", None)

    def _claim(self) -> None:
        services, term = self._services, self._coordinator.term
        # Asked right before the claim: it would fence the rightful leader if this thread had slept.
        self.confirm(services.settings.session_timeout)
        services.leader.start()
        services.members.read_to_end()
        self._term, self._look_at = term, 0.0
        logger.info("worker %s leads group %s", services.settings.worker, services.settings.group_id)

    def _lead(self, configured: frozenset[ConnectorTaskId]) -> None:
        services = self._services
        # In this order: whoever wrote a record had joined before, so it is seen alive.
        records = services.members.workers()
        self._look()
        settings, previous = services.settings, services.members.assignment
        live = {name: records[name] for name in sorted(self._alive & records.keys())}
        if settings.worker not in live:
            return
        support = group_support({name: record.support for name, record in live.items()})
        self._report(support)
        if settings.worker in support.excluded:
            self._coordinator.rejoin()
            return
        inputs = (previous, configured, live)
        now = services.runtime.now()
        # All but the objects themselves differ seldom, so this compares little.
        if inputs == self._settled and now < self._settled_until:
            return
        if now < self._publish_at:
            return
        planned = assign(previous, self._state(configured, live.values(), support))
        if planned is not previous:
            self._publish(planned, records.keys() - self._alive)
        else:
            ends = [*(one.until for one in previous.revoked.values()), *(one.until for one in previous.lost.values())]
            self._settled = inputs
            self._settled_until = now + min(ends, default=math.inf) / 1000 - services.runtime.wall()

    def _state(
        self, configured: frozenset[ConnectorTaskId], live: Collection[WorkerRecord], support: GroupSupport
    ) -> GroupState:
        settings = self._services.settings
        return GroupState(
            leader=settings.worker,
            configured=configured,
            workers=[
                LiveWorker(one.name, one.url, one.acknowledged, assignable=one.name not in support.excluded)
                for one in live
            ],
            now=int(self._services.runtime.wall() * 1000),
            protocol=settings.protocol,
            rebalance_timeout=int(settings.rebalance_timeout * 1000),
            max_delay=int(settings.max_delay * 1000),
            fenced=settings.support == "enabled",
        )

    def _publish(self, planned: ClusterAssignment, gone: Collection[str]) -> None:
        services, began = self._services, self._services.runtime.now()
        records = [assignment_record(planned), *map(worker_removal, sorted(gone))]
        try:
            services.leader.publish(services.members.partition.topic, records, planned.number)
        except RecordTooLargeError as error:
            self._postpone(error)
            return
        self._too_large = None
        services.members.read_to_end()
        now = services.runtime.now()
        self._publish_at = now + min(_LONGEST_REST, _REST_PER_PUBLICATION * (now - began))
        logger.info(
            "assignment %d of group %s: %s",
            planned.number,
            services.settings.group_id,
            ", ".join(f"{name}: {len(share.tasks)} tasks" for name, share in sorted(planned.workers.items())),
        )

    def _postpone(self, error: RecordTooLargeError) -> None:
        """Go on with the assignment before, and stay the leader: only one can delete what is too much."""
        self._publish_at = self._services.runtime.now() + _LONGEST_REST
        if self._too_large != str(error):
            self._too_large = str(error)
            group = self._services.settings.group_id
            logger.error("group %s keeps its assignment, and starts no other tasks: %s", group, error)

    def _look(self) -> None:
        """Ask the group's coordinator who is alive."""
        now = self._services.runtime.now()
        if now < self._look_at:
            return
        admin, self._admin = self._admin or self._services.backend.admin(), None
        try:
            self._alive = live_workers(admin.describe_group(self._services.settings.group_id))
        except BaseException:
            admin.close()
            raise
        self._admin = admin  # kept: to connect twice a second would cost an idle worker most of its time
        self._look_at = now + LOOK

    def _report(self, support: GroupSupport) -> None:
        if support != self._reported:
            self._reported = support
            if support.problem is not None:
                logger.error("group %s: %s", self._services.settings.group_id, support.problem)
            elif support.mixture is not None:
                logger.warning("group %s: %s", self._services.settings.group_id, support.mixture)
