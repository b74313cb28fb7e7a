"""Answer ConsumerGroupHeartbeat, and LeaveGroup for members of consumer groups (KIP-848)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from uuid import uuid4

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupMetadataManager, GroupSettings
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.members import NO_MEMBER
from eosfw_memory.server.coordinators.groups.modern import heartbeat as transitions
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.modern.heartbeat import HeartbeatRequest
from eosfw_memory.server.coordinators.groups.modern.member import JOIN_GROUP_EPOCH, Assignment
from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicsImage

_LOG = logging.getLogger(__name__)


class ConsumerGroupRequests:
    """The requests of members of consumer groups, and the timeouts of those members."""

    def __init__(self, store: GroupMetadataManager, settings: GroupSettings, topics: TopicsImage) -> None:
        self._store = store
        self._settings = settings
        self._topics = topics

    # --- heartbeats

    def heartbeat(self, group_id: str, request: HeartbeatRequest, now_ms: int) -> Answer:
        """Let a client join, stay or leave; raises KafkaError."""
        if request.member_epoch < JOIN_GROUP_EPOCH:
            return self._leave(group_id, request, now_ms)
        group = self._group(group_id, joins=request.member_epoch == JOIN_GROUP_EPOCH)
        full = len(group.members) >= self._settings.consumer_max_size
        if full and request.member_id not in group.members:
            raise KafkaError(
                Code.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {self._settings.consumer_max_size} members.",
            )
        result = transitions.heartbeat(group, request, self._topics, now_ms)
        self._store.change(group, result.changes, now_ms)
        group.topics_version = self._topics.version
        group.timers.renew(result.member, self._settings.consumer_session_timeout_ms, now_ms)
        if result.changes:
            group.timers.retain(group.members)
        return {
            "error_code": Code.NONE,
            "member_id": result.member.member_id,
            "member_epoch": result.member.current.member_epoch,
            "heartbeat_interval": self._settings.consumer_heartbeat_interval_ms,
            "assignment": None if result.assignment is None else _assignment(result.assignment),
        }

    def _group(self, group_id: str, *, joins: bool) -> ConsumerGroup:
        """The group; the first member creates it, in place of a classic group without members."""
        group = self._store.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if not joins:
            raise KafkaError(Code.GROUP_ID_NOT_FOUND, _not_found(group_id, group))
        if isinstance(group, Group) and not group.is_empty:
            # Kafka's answer with `group.consumer.migration.policy=disabled`.
            raise KafkaError(
                Code.GROUP_ID_NOT_FOUND,
                f"Cannot upgrade classic group {group_id} to consumer group because online upgrade is disabled.",
            )
        return ConsumerGroup(group_id)

    # --- leaving

    def _leave(self, group_id: str, request: HeartbeatRequest, now_ms: int) -> Answer:
        group = self.existing(group_id)
        changes = transitions.leave(group, request.member_id, request.instance_id, request.member_epoch, self._topics)
        self._store.change(group, changes, now_ms)
        group.timers.retain(group.members)
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
        timeout_ms = self._settings.consumer_session_timeout_ms
        gone = group.timers.expired(group.members.values(), timeout_ms, now_ms)
        if gone:
            _LOG.info("consumer group %r: removing %s, silent or slow for too long", group.group_id, sorted(gone))
            with suppress(KafkaError):  # what could not be logged is tried again next time
                self._fence(group, sorted(gone), now_ms)

    def on_clock_moved_back(self, group: ConsumerGroup, now_ms: int) -> None:
        """Let no deadline be later than a timeout from now."""
        timeout_ms = self._settings.consumer_session_timeout_ms
        group.timers.on_clock_moved_back(group.members.values(), timeout_ms, now_ms)

    def _fence(self, group: ConsumerGroup, member_ids: Collection[str], now_ms: int) -> None:
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
