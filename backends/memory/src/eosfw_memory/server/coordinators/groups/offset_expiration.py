"""Decide which offsets a group has kept for long enough without using them."""

from __future__ import annotations

from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.groups.group_records import NO_EXPIRY, Committed
from eosfw_memory.server.coordinators.groups.membership.group import CONSUMER, Group
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.subscriptions import subscribed_topics
from eosfw_memory.server.coordinators.groups.offsets import LoggedOffset, Offsets


def expired_offsets(group: Group, offsets: Offsets, retention_ms: int, now_ms: int) -> list[TopicPartition]:
    """The partitions whose offsets are to be forgotten; none that an open transaction may change."""
    undecided = offsets.undecided(group.group_id)
    return [
        where
        for where, logged in offsets.of(group.group_id).items()
        if where not in undecided and _over(group, where, logged, retention_ms, now_ms)
    ]


def _over(group: Group, where: TopicPartition, logged: LoggedOffset, retention_ms: int, now_ms: int) -> bool:
    since_ms = _unused_since(group, where, logged.committed)
    if since_ms is None:
        return False
    if logged.committed.expires_ms != NO_EXPIRY:
        return logged.committed.expires_ms <= now_ms
    return since_ms + retention_ms <= now_ms


def _unused_since(group: Group, where: TopicPartition, committed: Committed) -> int | None:
    """Since when an offset is unused; None while a member may use it."""
    if group.protocol_type is None:
        return committed.committed_ms
    if group.state is GroupState.EMPTY:
        # Records of groups from before KIP-211 do not say since when the group has been empty.
        return group.since_ms if group.since_ms >= 0 else committed.committed_ms
    topics = subscribed_topics(group)
    idle = group.protocol_type == CONSUMER and group.state is GroupState.STABLE and topics is not None
    return committed.committed_ms if idle and where.topic not in (topics or ()) else None
