"""One member of a consumer group. Kafka's `ConsumerGroupMember`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, TypeAlias
from uuid import UUID

from eosfw_memory.server.coordinators.groups.membership.members import Protocols

Assignment: TypeAlias = Mapping[UUID, frozenset[int]]
"""Partitions by the ids of their topics; no topic is without partitions."""

NOTHING: Final[Assignment] = {}
JOIN_GROUP_EPOCH: Final = 0
LEAVE_GROUP_EPOCH: Final = -1
LEAVE_GROUP_STATIC_EPOCH: Final = -2
"""The epoch of a static member that left and will come back."""


class MemberState(IntEnum):
    """How far a member is on its way to the target assignment; the values are those of the log."""

    STABLE = 0
    """It has what the target assignment of its epoch gives it."""
    UNREVOKED_PARTITIONS = 1
    """It must give up partitions before it may go on to the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that other members have not given up yet."""


@dataclass(frozen=True, slots=True)
class ClassicMemberMetadata:
    """What a member adds that uses the classic protocol."""

    session_timeout_ms: int
    protocols: Protocols

    @property
    def protocol(self) -> tuple[str, bytes]:
        """The protocol that the broker speaks with it, with its metadata: the one that it prefers."""
        return self.protocols[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """What a member says of itself."""

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    topic_regex: str = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    """None for a member that sends ConsumerGroupHeartbeat."""

    @property
    def subscription(self) -> tuple[frozenset[str], str]:
        """What it has subscribed to: names, and a regular expression or an empty text."""
        return self.topic_names, self.topic_regex


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """How far a member has come."""

    member_epoch: int = JOIN_GROUP_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Assignment = field(default_factory=dict)
    pending_revocation: Assignment = field(default_factory=dict)
    """What it had and must give up."""


@dataclass(frozen=True, slots=True)
class ConsumerGroupMember:
    """A member: what it says of itself, and how far it has come."""

    member_id: str
    metadata: MemberMetadata = MemberMetadata()
    current: CurrentAssignment = field(default_factory=CurrentAssignment)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether it has all that the target assignment of an epoch gives it."""
        return self.current.state is MemberState.STABLE and self.current.member_epoch == assignment_epoch

    def session_timeout_ms(self, otherwise: int) -> int:
        """Its own, if it uses the classic protocol."""
        return otherwise if self.metadata.classic is None else self.metadata.classic.session_timeout_ms


def is_subset(some: Assignment, every: Assignment) -> bool:
    """Whether an assignment has no partition beyond another."""
    return all(partitions <= every.get(topic_id, frozenset()) for topic_id, partitions in some.items())


def overlaps(one: Assignment, other: Assignment) -> bool:
    """Whether two assignments have a partition in common."""
    return any(not partitions.isdisjoint(other.get(topic_id, frozenset())) for topic_id, partitions in one.items())
