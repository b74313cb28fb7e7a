"""Run every group of a cluster of one broker: members, generations, offsets.

Whatever must last is logged before it counts, so the log alone rebuilds the coordinator. Callers hold the broker's
lock and give the time; nothing here blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.classic_member_requests import ClassicMemberRequests
from eosfw_memory.server.coordinators.groups.cluster_topics import ClusterTopics
from eosfw_memory.server.coordinators.groups.consumer_group_requests import ConsumerGroupRequests
from eosfw_memory.server.coordinators.groups.group_config import GroupConfigs
from eosfw_memory.server.coordinators.groups.group_metadata_manager import (
    AnyGroup,
    GroupLog,
    GroupMetadataManager,
    GroupSettings,
)
from eosfw_memory.server.coordinators.groups.member_requests import MemberRequests
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.rebalance import Rebalance
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.offset_expiration import expired_offsets
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetRequests
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import Topics

_LOG = logging.getLogger(__name__)


class GroupCoordinator:
    """Kafka's `GroupCoordinator`; `members`, `consumer_groups` and `offsets` answer requests."""

    def __init__(self, log: GroupLog, settings: GroupSettings, topics: Topics | None = None) -> None:
        self._settings = settings
        self.store = GroupMetadataManager(log)
        """What is known, which the log alone rebuilds."""
        self._rebalance = Rebalance(self.store.save, initial_delay_ms=settings.initial_rebalance_delay_ms)
        self.configs = GroupConfigs(settings)
        """The properties of single groups."""
        image = ClusterTopics(Topics() if topics is None else topics)
        self.consumer_groups = ConsumerGroupRequests(self.store, self._rebalance, self.configs, image)
        classic_members = ClassicMemberRequests(self.consumer_groups, self.configs, image)
        self.members = MemberRequests(self.store, self._rebalance, settings, classic_members)
        self.offsets = OffsetRequests(self.store)
        self.partition_of = log.partition_of
        """Which partition of `__consumer_offsets` keeps a group."""
        self.transaction_ended: Callable[[int, int, TransactionResult], None] = self.store.transaction_ended
        """To be called, with its producer's id, for each marker in a partition of `__consumer_offsets`."""

    # --- looking in

    def groups(self) -> list[AnyGroup]:
        """Every group; read only."""
        return list(self.store)

    def group(self, group_id: str) -> AnyGroup | None:
        """One group; read only."""
        return self.store.get(group_id)

    def delete(self, group_id: str, now_ms: int) -> Code:
        """Delete a group without members, with its offsets."""
        try:
            self.store.delete(group_id, now_ms)
        except KafkaError as refused:
            return refused.code
        return Code.NONE

    def leave(self, group_id: str, leavers: Sequence[tuple[str, str | None]], now_ms: int) -> list[Code]:
        """Remove members, each named by member id, or by group.instance.id alone; raises InvalidGroupId."""
        modern = isinstance(self.store.get(group_id), ConsumerGroup)
        requests = self.consumer_groups if modern else self.members
        return requests.leave(group_id, leavers, now_ms)

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Let no deadline be later than a timeout from now."""
        for group in self.store:
            if isinstance(group, ConsumerGroup):
                self.consumer_groups.on_clock_moved_back(group, now_ms)
            else:
                group.on_clock_moved_back(now_ms)

    def on_topics_deleted(self, gone: Callable[[str], bool], now_ms: int) -> None:
        """Forget offsets of deleted topics: topics with these names may be created again."""
        for group_id, partitions in self.store.offsets.about(gone).items():
            try:
                self.store.forget_offsets(group_id, partitions, now_ms)
            except KafkaError as why:
                _LOG.warning("group %r keeps offsets of deleted topics until the next start: %s", group_id, why)

    # --- time passes

    def is_empty(self) -> bool:
        """Whether there is no group at all."""
        return next(iter(self.store), None) is None

    def tick(self, now_ms: int) -> None:
        """Expire sessions, and end rebalances whose time is over."""
        for group in self.store:
            if isinstance(group, ConsumerGroup):
                self.consumer_groups.tick(group, now_ms)
            else:
                self._rebalance.tick(group, now_ms)

    def expire_offsets(self, now_ms: int) -> None:
        """Forget offsets unused for `offsets.retention.minutes`, then groups with neither members nor offsets."""
        for group in self.store:
            with suppress(KafkaError):  # what could not be logged is looked at again next time
                gone = expired_offsets(group, self.store.offsets, self._settings.offsets_retention_ms, now_ms)
                self.store.forget_offsets(group.group_id, gone, now_ms)
                unused = group.is_empty and not self.store.offsets.keys(group.group_id)
                if unused and not (isinstance(group, Group) and group.pending_join_members):
                    self.store.delete(group.group_id, now_ms)
