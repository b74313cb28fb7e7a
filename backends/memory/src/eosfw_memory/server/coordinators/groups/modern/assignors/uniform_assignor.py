"""Give members equally many partitions, moving as few as possible. Kafka's `UniformAssignor`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from uuid import UUID

from eosfw_memory.server.coordinators.groups.modern.assignors.group_spec import (
    GroupSpec,
    TargetAssignments,
    in_hash_map_order,
)
from eosfw_memory.server.coordinators.groups.modern.assignors.heterogeneous import assign_heterogeneous
from eosfw_memory.server.coordinators.groups.modern.member import Assignment


def assign_uniformly(spec: GroupSpec) -> TargetAssignments:
    """The numbers of partitions of any two members differ by one at most, if all have the same subscription."""
    if not spec.members:
        return {}
    return _assign_homogeneous(spec) if spec.is_homogeneous else assign_heterogeneous(spec)


def _assign_homogeneous(spec: GroupSpec) -> TargetAssignments:
    """Each member keeps what it has up to its quota; the others get the rest in turn."""
    every = [(topic_id, number) for topic_id in sorted(spec.partitions) for number in range(spec.partitions[topic_id])]
    assigned = {partition for member in spec.members.values() for partition in _flat(member.assigned)}
    unassigned = [partition for partition in every if partition not in assigned]
    order = in_hash_map_order(spec.members)
    quota, extra = divmod(len(every), len(order))
    targets: dict[str, list[tuple[UUID, int]]] = {}
    rooms: dict[str, int] = {}
    for place, member_id in enumerate(order):
        has = [each for each in _flat(spec.members[member_id].assigned) if each[0] in spec.partitions]
        most = quota + (extra > 0)
        targets[member_id] = has[:most]
        unassigned += has[most:]
        # The last ones in the order have to take what one more is left over; the others need not.
        takes_extra = extra > 0 and (len(has) >= most or len(order) - place <= extra)
        extra -= takes_extra
        rooms[member_id] = max(quota + takes_extra - len(has), 0)
    rest = iter(unassigned)
    for member_id, room in rooms.items():
        targets[member_id] += islice(rest, room)
    return {member_id: _grouped(partitions) for member_id, partitions in targets.items()}


def _flat(assignment: Assignment) -> Iterator[tuple[UUID, int]]:
    return ((topic_id, number) for topic_id in sorted(assignment) for number in sorted(assignment[topic_id]))


def _grouped(partitions: list[tuple[UUID, int]]) -> Assignment:
    grouped: dict[UUID, set[int]] = {}
    for topic_id, number in partitions:
        grouped.setdefault(topic_id, set()).add(number)
    return {topic_id: frozenset(numbers) for topic_id, numbers in grouped.items()}
