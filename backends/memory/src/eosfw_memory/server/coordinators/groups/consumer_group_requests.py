"""Answer ConsumerGroupHeartbeat, and LeaveGroup for members of consumer groups (KIP-848)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from uuid import uuid4

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.coordinators.groups.group_config import GroupConfigs
from eosfw_memory.server.coordinators.groups.group_metadata_manager import AnyGroup, GroupMetadataManager
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import CONSUMER
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.members import NO_MEMBER
from eosfw_memory.server.coordinators.groups.membership.rebalance import Rebalance
from eosfw_memory.server.coordinators.groups.modern import heartbeat as transitions
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.modern.conversion import (
    cannot_upgrade,
    downgraded,
    is_classic_without,
    upgraded,
)
from eosfw_memory.server.coordinators.groups.modern.heartbeat import HeartbeatRequest, HeartbeatResult
from eosfw_memory.server.coordinators.groups.modern.member import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_STATIC_EPOCH,
    Assignment,
)
from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicsImage

_LOG = logging.getLogger(__name__)


class ConsumerGroupRequests:
    """The requests of members of consumer groups, and the timeouts of those members."""

    def __init__(
        self, store: GroupMetadataManager, rebalance: Rebalance, configs: GroupConfigs, topics: TopicsImage
    ) -> None:
        self._store = store
        self._rebalance = rebalance
        self._settings = configs.settings
        self._configs = configs
        self._topics = topics

    # --- heartbeats

    def heartbeat(self, group_id: str, request: HeartbeatRequest, now_ms: int) -> Answer:
        """Let a client join, stay or leave; raises KafkaError."""
        if request.member_epoch < JOIN_GROUP_EPOCH:
            return self._leave(group_id, request, now_ms)
        before = self._store.get(group_id)
        group = self._group(group_id, before, joins=request.member_epoch == JOIN_GROUP_EPOCH)
        self.check_room(group, request.member_id)
        result = transitions.heartbeat(group, request, self._topics, now_ms)
        self.make(group, result, now_ms)
        if isinstance(before, Group):
            self._rebalance.abandon(before)
        return {
            "error_code": Code.NONE,
            "member_id": result.member.member_id,
            "member_epoch": result.member.current.member_epoch,
            "heartbeat_interval": self._configs.heartbeat_interval_ms(group_id),
            "assignment": None if result.assignment is None else _assignment(result.assignment),
        }

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        """Raise GroupMaxSizeReached for a client that would be one member too many."""
        if len(group.members) >= self._settings.consumer_max_size and member_id not in group.members:
            raise KafkaError(
                Code.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {self._settings.consumer_max_size} members.",
            )

    def make(self, group: ConsumerGroup, result: HeartbeatResult, now_ms: int) -> None:
        """Log what a heartbeat changes, then have it; raises KafkaError if it cannot be logged."""
        self._store.change(group, result.changes, now_ms)
        group.topics_version = self._topics.version
        group.timers.renew(result.member, self._configs.session_timeout_ms(group.group_id), now_ms)
        if result.changes:
            group.timers.retain(group.members)

    def _group(self, group_id: str, group: AnyGroup | None, *, joins: bool) -> ConsumerGroup:
        """The group; the first member creates it, or makes it of a classic group."""
        if isinstance(group, ConsumerGroup):
            return group
        if not joins:
            raise KafkaError(Code.GROUP_ID_NOT_FOUND, _not_found(group_id, group))
        if group is None or group.is_empty:
            return ConsumerGroup(group_id)
        self._check_upgrade(group)
        return upgraded(group, self._topics)

    # --- from one protocol to the other

    def _check_upgrade(self, group: Group) -> None:
        """Raise GroupIdNotFound if a classic group may not become a consumer group while it has members."""
        if not self._settings.consumer_migration_policy.upgrades:
            raise cannot_upgrade(group.group_id, "online upgrade is disabled")
        if group.protocol_type != CONSUMER:
            raise cannot_upgrade(group.group_id, "the group does not use the consumer embedded protocol")
        if len(group.members) > self._settings.consumer_max_size:
            raise cannot_upgrade(group.group_id, "the group size exceeds the consumer group maximum size")

    def may_downgrade(self, group: ConsumerGroup, leaving: Collection[str] = ()) -> bool:
        """Whether a group without these members is to become a classic group."""
        has_room = len(group.members) - len(leaving) <= self._settings.max_size
        return has_room and self._settings.consumer_migration_policy.downgrades and is_classic_without(group, leaving)

    def downgrade(self, group: ConsumerGroup, leaving: Collection[str], now_ms: int) -> bool:
        """Log a classic group of a group's members but these, then have it.

        Gives whether a rebalance begins: if members leave, or the epoch is a new one, for another subscription.
        """
        _LOG.info("consumer group %r: becomes a classic group, since all members use that protocol", group.group_id)
        classic = downgraded(group, leaving, self._topics, now_ms)
        classic.generation = self.existing(group.group_id).epoch
        self._store.put(classic, now_ms)
        rebalances = bool(leaving) or group.epoch > classic.generation
        if rebalances:
            self._rebalance.start_or_finish_without(classic, now_ms)
        return rebalances

    # --- leaving

    def _leave(self, group_id: str, request: HeartbeatRequest, now_ms: int) -> Answer:
        group = self.existing(group_id)
        member = transitions.current_member(group, request.member_id, request.instance_id)
        if request.instance_id is None or request.member_epoch != LEAVE_GROUP_STATIC_EPOCH:
            self._fence(group, [member.member_id], now_ms)
        else:
            self._store.change(group, transitions.leave_for_a_while(member), now_ms)
        return {
            "error_code": Code.NONE,
            "member_id": request.member_id,
            "member_epoch": request.member_epoch,
            "heartbeat_interval": 0,
        }

    def leave(self, group_id: str, leavers: Sequence[tuple[str, str | None]], now_ms: int) -> list[Code]:
        """Remove members, each named by member id, or by group.instance.id alone (by an administrator)."""
        group = self.existing(group_id)
        codes, gone = [], []
        for member_id, instance_id in leavers:
            try:
                gone.append(_member_id(group, member_id, instance_id))
                codes.append(Code.NONE)
            except KafkaError as refused:
                codes.append(refused.code)
        if gone:
            self._fence(group, dict.fromkeys(gone), now_ms)
        return codes

    def existing(self, group_id: str) -> ConsumerGroup:
        """A consumer group; raises GroupIdNotFound."""
        group = self._store.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise KafkaError(Code.GROUP_ID_NOT_FOUND, _not_found(group_id, group))
        return group

    # --- time passes

    def tick(self, group: ConsumerGroup, now_ms: int) -> None:
        """Remove the members whose session is over, or who did not give up partitions in time."""
        timeout_ms = self._configs.session_timeout_ms(group.group_id)
        gone = group.timers.expired(group.members.values(), timeout_ms, now_ms)
        if gone:
            _LOG.info("consumer group %r: removing %s, silent or slow for too long", group.group_id, sorted(gone))
            with suppress(KafkaError):  # what could not be logged is tried again next time
                self._fence(group, sorted(gone), now_ms)

    def on_clock_moved_back(self, group: ConsumerGroup, now_ms: int) -> None:
        """Let no deadline be later than a timeout from now."""
        timeout_ms = self._configs.session_timeout_ms(group.group_id)
        group.timers.on_clock_moved_back(group.members.values(), timeout_ms, now_ms)

    def _fence(self, group: ConsumerGroup, member_ids: Collection[str], now_ms: int) -> None:
        """Remove members."""
        if self.may_downgrade(group, member_ids):
            self.downgrade(group, member_ids, now_ms)
            return
        self._store.change(group, transitions.fence(group, member_ids, self._topics), now_ms)
        group.timers.retain(group.members)


def new_member_id() -> str:
    """An id for a member that lets the broker choose it, as those of version 0 do."""
    return str(uuid4())


def _member_id(group: ConsumerGroup, member_id: str, instance_id: str | None) -> str:
    holder = None if instance_id is None else group.static_members.get(instance_id)
    wanted = holder if member_id == NO_MEMBER and holder is not None else member_id
    return transitions.current_member(group, wanted, instance_id).member_id


def _assignment(assignment: Assignment) -> Answer:
    topics = [{"topic_id": topic_id, "partitions": sorted(each)} for topic_id, each in assignment.items()]
    return {"topic_partitions": topics}


def _not_found(group_id: str, group: object) -> str:
    return f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
