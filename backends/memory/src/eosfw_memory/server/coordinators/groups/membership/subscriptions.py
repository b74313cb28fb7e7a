"""Read which topics the members of a consumer group have subscribed to."""

from __future__ import annotations

import struct

from eosfw_memory.server.coordinators.groups.membership.group import CONSUMER, Group
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.members import Member
from eosfw_memory.server.coordinators.message_reader import MessageReader

_VERSION = struct.Struct(">h")


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """The topics of all members; None for consumers whose subscriptions cannot be read, or are being negotiated."""
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
