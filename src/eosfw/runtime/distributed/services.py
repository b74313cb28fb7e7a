"""What the parts of a herder share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.errors import NotFoundError, NotLeaderError, RebalanceNeededError
from eosfw.runtime.distributed.assigned_tasks import AssignedTasks
from eosfw.runtime.distributed.state_reports import StateReports
from eosfw.runtime.fencing.leader import Leader
from eosfw.runtime.group.membership import GroupMembership
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore
from eosfw.runtime.storage.status_topic import StatusTopic
from eosfw.runtime.tasks.config_reloads import ConfigReloads
from eosfw.runtime.tasks.planner import TaskPlanner
from eosfw.state.storage.config_log import ConnectorEntry

REBALANCE_EXPECTED = "Request cannot be completed because a rebalance is expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class HerderServices:
    """The parts of one worker of a group."""

    config: Config
    topic: ConfigTopic
    worker_offsets: GlobalOffsetBackingStore
    leader: Leader
    """Writes the config topic; used only while the member leads."""
    member: GroupMembership
    planner: TaskPlanner
    reloads: ConfigReloads
    tasks: AssignedTasks
    statuses: StatusTopic
    reports: StateReports
    runtime: Runtime
    wake: Callable[[], None]
    """Has the herder's thread look at the config topic at once."""

    def active_topics(self) -> set[str]:
        """The topics that the group's connectors have written to, as far as the status topic was read."""
        return {topic for name in self.topic.connectors() for topic in self.statuses.topics(name)}

    def require_leader(self, what: str) -> None:
        """Raise NotLeaderError with this text unless this worker leads its group."""
        if not self.member.leads():
            raise NotLeaderError(what, self.member.leader_url())

    def require_no_rebalance(self) -> None:
        """Raise RebalanceNeededError while tasks are about to move."""
        if self.member.rebalance_expected():
            raise RebalanceNeededError(REBALANCE_EXPECTED)

    def connector(self, name: str, missing: str = "Connector {} not found") -> ConnectorEntry:
        """The state of a connector; NotFoundError with this text if there is none."""
        entry = self.topic.entry(name)
        if entry.properties is None:
            raise NotFoundError(missing.format(name))
        return entry
