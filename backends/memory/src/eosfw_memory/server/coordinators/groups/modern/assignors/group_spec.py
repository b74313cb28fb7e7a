"""What assignors know of a group. Kafka's `GroupSpec`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from eosfw_memory.server.coordinators.groups.modern.member import Assignment
from eosfw_memory.server.coordinators.log_partition import java_hash


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """What assignors know of a member."""

    topics: frozenset[UUID]
    """The topics it has subscribed to, as far as they exist."""
    assigned: Assignment = field(default_factory=dict)
    """What the last target assignment gave it."""
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The members of a group, and how many partitions each of their topics has."""

    members: Mapping[str, MemberSpec]
    partitions: Mapping[UUID, int]
    is_homogeneous: bool
    """Whether all members have subscribed to the same topics."""


TargetAssignments: TypeAlias = Mapping[str, Assignment]
"""What each member shall have, by member id; who is not named shall have nothing."""

Assignor: TypeAlias = Callable[[GroupSpec], TargetAssignments]


def in_hash_map_order(names: Iterable[str]) -> list[str]:
    """Names in the order in which a `HashMap` of Java gives them, which decides between equal members in Kafka.

    Only names of the same bucket may have another order than in Java.
    """
    every = sorted(names)
    buckets = 16
    # A `HashMap` doubles its buckets when three quarters of them would be exceeded.
    while len(every) * 4 > buckets * 3:
        buckets *= 2
    return sorted(every, key=lambda name: _spread(java_hash(name)) & (buckets - 1))


def _spread(hashed: int) -> int:
    return hashed ^ hashed >> 16
