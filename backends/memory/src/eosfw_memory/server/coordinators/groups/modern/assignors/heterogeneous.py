"""Give members with different subscriptions as equally many partitions as their subscriptions allow.

Kafka's `UniformHeterogeneousAssignmentBuilder`; where several members have equally many, its choice may be another one.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from eosfw_memory.server.coordinators.groups.modern.assignors.group_spec import (
    GroupSpec,
    TargetAssignments,
    in_hash_map_order,
)

_MOST_ROUNDS: Final = 16
"""Overlapping subscriptions may need many rounds; Kafka gives up after as many."""


def assign_heterogeneous(spec: GroupSpec) -> TargetAssignments:
    """Each member keeps what it has; the rest goes to those with fewest, then partitions move until all is even."""
    return _Balance(spec).assign()


class _Balance:
    """The assignment while it is made; members are known by their places in the order."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._order = in_hash_map_order(spec.members)
        self._sizes = [0] * len(self._order)
        self._owners: dict[UUID, list[int | None]] = {
            topic_id: [None] * count for topic_id, count in spec.partitions.items()
        }
        self._subscribers: dict[UUID, list[int]] = {
            topic_id: [place for place, name in enumerate(self._order) if topic_id in spec.members[name].topics]
            for topic_id in spec.partitions
        }

    def assign(self) -> TargetAssignments:
        self._keep()
        for topic_id in self._sorted_topics():
            for number, owner in enumerate(self._owners[topic_id]):
                if owner is None:
                    self._give(topic_id, number, self._least_loaded(topic_id))
        shared = [topic_id for topic_id in self._sorted_topics() if len(self._subscribers[topic_id]) > 1]
        for _ in range(_MOST_ROUNDS):
            if not sum(self._balance(topic_id) for topic_id in shared):
                break
        return self._targets()

    def _keep(self) -> None:
        for place, name in enumerate(self._order):
            member = self._spec.members[name]
            for topic_id in member.assigned.keys() & member.topics:
                for number in member.assigned[topic_id]:
                    self._give(topic_id, number, place)

    def _sorted_topics(self) -> list[UUID]:
        """Topics with most partitions for each subscriber first: they leave least choice."""

        def weight(topic_id: UUID) -> tuple[float, int, UUID]:
            subscribers = len(self._subscribers[topic_id])
            return -self._spec.partitions[topic_id] / subscribers, subscribers, topic_id

        return sorted(self._owners, key=weight)

    def _least_loaded(self, topic_id: UUID) -> int:
        return min(self._subscribers[topic_id], key=lambda place: (self._sizes[place], place))

    def _give(self, topic_id: UUID, number: int, place: int) -> None:
        before = self._owners[topic_id][number]
        if before is not None:
            self._sizes[before] -= 1
        self._owners[topic_id][number] = place
        self._sizes[place] += 1

    def _balance(self, topic_id: UUID) -> int:
        """Move partitions of one topic from the members with most to those with fewest; give how many moved."""
        movable: dict[int, list[int]] = {}
        for number, owner in enumerate(self._owners[topic_id]):
            if owner is not None:
                movable.setdefault(owner, []).append(number)
        moved = 0
        while movable:
            most = max(movable, key=lambda place: (self._sizes[place], place))
            least = self._least_loaded(topic_id)
            if self._sizes[most] - self._sizes[least] <= 1:
                break
            self._give(topic_id, movable[most].pop(), least)
            moved += 1
            if not movable[most]:
                del movable[most]
        return moved

    def _targets(self) -> TargetAssignments:
        targets: dict[str, dict[UUID, frozenset[int]]] = {name: {} for name in self._order}
        for topic_id, owners in self._owners.items():
            for place in {owner for owner in owners if owner is not None}:
                numbers = frozenset(number for number, owner in enumerate(owners) if owner == place)
                targets[self._order[place]][topic_id] = numbers
        return targets
