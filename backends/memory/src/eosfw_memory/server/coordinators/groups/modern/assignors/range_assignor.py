"""Give each member a range of the partitions of every topic. Kafka's `RangeAssignor`."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from eosfw_memory.server.coordinators.groups.modern.assignors.group_spec import GroupSpec, TargetAssignments


def assign_ranges(spec: GroupSpec) -> TargetAssignments:
    """Members in the order of their instance ids, then of their ids, have consecutive ranges of each topic."""
    subscribers = Counter(topic_id for member in spec.members.values() for topic_id in member.topics)
    before: Counter[UUID] = Counter()
    targets = {}
    for member_id in _sorted_members(spec):
        target = {}
        for topic_id in spec.members[member_id].topics:
            size, more = divmod(spec.partitions[topic_id], subscribers[topic_id])
            place = before[topic_id]
            before[topic_id] += 1
            start = place * size + min(place, more)
            partitions = frozenset(range(start, start + size + (place < more)))
            if partitions:
                target[topic_id] = partitions
        targets[member_id] = target
    return targets


def _sorted_members(spec: GroupSpec) -> list[str]:
    """Static members first: they keep their places when they come back under other member ids."""

    def place(member_id: str) -> tuple[bool, str]:
        instance_id = spec.members[member_id].instance_id
        return instance_id is None, member_id if instance_id is None else instance_id

    return sorted(spec.members, key=place)
