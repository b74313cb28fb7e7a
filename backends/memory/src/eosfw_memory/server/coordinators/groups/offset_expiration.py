"""Decide which offsets a group has kept for long enough without using them, by what its members have subscribed to."""

from __future__ import annotations

import struct

from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.groups.group_metadata_manager import AnyGroup
from eosfw_memory.server.coordinators.groups.group_records import NO_EXPIRY, Committed
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import CONSUMER
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.members import Member
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup
from eosfw_memory.server.coordinators.groups.offsets import Offsets
from eosfw_memory.server.coordinators.message_reader import MessageReader

_VERSION = struct.Struct(">h")


def expired_offsets(group: AnyGroup, offsets: Offsets, retention_ms: int, now_ms: int) -> list[TopicPartition]:
    """The partitions whose offsets are to be forgotten; none that an open transaction may change."""
    undecided = offsets.undecided(group.group_id)
    return [
        where
        for where, logged in offsets.of(group.group_id).items()
        if where not in undecided and _expired(group, where, logged.committed, retention_ms, now_ms)
    ]


def _expired(group: AnyGroup, where: TopicPartition, committed: Committed, retention_ms: int, now_ms: int) -> bool:
    since_ms = _unused_since(group, where, committed)
    if since_ms is None:
        return False
    return (since_ms + retention_ms if committed.expires_ms == NO_EXPIRY else committed.expires_ms) <= now_ms


def _unused_since(group: AnyGroup, where: TopicPartition, committed: Committed) -> int | None:
    """Since when an offset is unused; None while a member may use it."""
    if isinstance(group, ConsumerGroup):
        return None if where.topic in group.subscribed_topics() else committed.committed_ms
    if group.protocol_type is None:
        return committed.committed_ms
    if group.state is GroupState.EMPTY:
        # Records of groups from before KIP-211 do not say since when the group has been empty.
        return group.since_ms if group.since_ms >= 0 else committed.committed_ms
    topics = subscribed_topics(group)
    idle = group.protocol_type == CONSUMER and group.state is GroupState.STABLE and topics is not None
    return committed.committed_ms if idle and where.topic not in (topics or ()) else None


def subscribed_topics(group: AnyGroup) -> frozenset[str] | None:
    """The topics of all members; None for consumers whose subscriptions cannot be read, or are being negotiated."""
    if isinstance(group, ConsumerGroup):
        return group.subscribed_topics()
    if group.protocol_type != CONSUMER or group.state is GroupState.EMPTY:
        return frozenset()
    if group.protocol_name is None:
        return None
    try:
        return frozenset().union(*(_topics(member, group.protocol_name) for member in group.members.values()))
    except (struct.error, ValueError):
        return None


def _topics(member: Member, protocol: str) -> frozenset[str]:
    """The topics of one member, which every version of the subscription names first."""
    reader = MessageReader(member.metadata(protocol), _VERSION.size, compact=False)
    return frozenset(reader.string() for _ in range(reader.int32()))
