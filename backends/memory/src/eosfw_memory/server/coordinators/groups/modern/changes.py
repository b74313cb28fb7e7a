"""The changes of a consumer group, each of which is one record of `__consumer_offsets`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from eosfw_memory.server.coordinators.groups.modern.member import Assignment, CurrentAssignment, MemberMetadata


class ChangeKind(IntEnum):
    """What a change is about; the values are the kinds of Kafka's records."""

    GROUP_METADATA = 3
    PARTITION_METADATA = 4
    MEMBER_METADATA = 5
    TARGET_ASSIGNMENT_METADATA = 6
    TARGET_ASSIGNMENT_MEMBER = 7
    CURRENT_MEMBER_ASSIGNMENT = 8
    REGULAR_EXPRESSION = 16


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """The group's epoch, with a hash of the topics that it has subscribed to."""

    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """What Kafka before 4.1 kept of the subscribed topics; such a record is removed at the next occasion."""


@dataclass(frozen=True, slots=True)
class TargetAssignmentMetadata:
    """The group epoch that the target assignment was made for."""

    assignment_epoch: int


@dataclass(frozen=True, slots=True)
class TargetAssignment:
    """What one member shall have."""

    partitions: Assignment


@dataclass(frozen=True, slots=True)
class ResolvedRegularExpression:
    """The topics that a regular expression names."""

    topics: frozenset[str]
    version: int
    """The version of the topics that it was resolved with."""
    resolved_ms: int


Value: TypeAlias = (
    GroupMetadata
    | PartitionMetadata
    | MemberMetadata
    | TargetAssignmentMetadata
    | TargetAssignment
    | CurrentAssignment
    | ResolvedRegularExpression
)

KIND_OF: Final[dict[type[Value], ChangeKind]] = {
    GroupMetadata: ChangeKind.GROUP_METADATA,
    PartitionMetadata: ChangeKind.PARTITION_METADATA,
    MemberMetadata: ChangeKind.MEMBER_METADATA,
    TargetAssignmentMetadata: ChangeKind.TARGET_ASSIGNMENT_METADATA,
    TargetAssignment: ChangeKind.TARGET_ASSIGNMENT_MEMBER,
    CurrentAssignment: ChangeKind.CURRENT_MEMBER_ASSIGNMENT,
    ResolvedRegularExpression: ChangeKind.REGULAR_EXPRESSION,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a group; `name` is that of the member or the regular expression it is about, if any."""

    kind: ChangeKind
    name: str = ""
    value: Value | None = None
    """None forgets what was known."""


def put(value: Value, name: str = "") -> Change:
    """The change to a new value."""
    return Change(KIND_OF[type(value)], name, value)
