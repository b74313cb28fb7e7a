"""Make the target assignment of a consumer group. Kafka's `TargetAssignmentBuilder`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID

from eosfw_memory.server.coordinators.groups.modern.assignors.group_spec import GroupSpec, MemberSpec
from eosfw_memory.server.coordinators.groups.modern.assignors.names import ASSIGNORS, preferred_assignor
from eosfw_memory.server.coordinators.groups.modern.changes import (
    Change,
    TargetAssignment,
    TargetAssignmentMetadata,
    put,
)
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup, target_of
from eosfw_memory.server.coordinators.groups.modern.member import NOTHING
from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicsImage


def target_changes(group: ConsumerGroup, topics: TopicsImage) -> Iterator[Change]:
    """What another target assignment, for the group's epoch, changes."""
    assignor = preferred_assignor(member.metadata.server_assignor for member in group.members.values())
    targets = ASSIGNORS[assignor](_spec(group, topics))
    for member_id in tuple(group.members):
        target = targets.get(member_id, NOTHING)
        if target != group.target.get(member_id):
            yield put(TargetAssignment(target), member_id)
    yield put(TargetAssignmentMetadata(group.epoch))


def _spec(group: ConsumerGroup, topics: TopicsImage) -> GroupSpec:
    images = {name: image for name in group.subscribed_topics() if (image := topics.topic(name)) is not None}

    def ids(names: Iterable[str]) -> frozenset[UUID]:
        return frozenset(images[name].topic_id for name in names if name in images)

    members = {
        name: MemberSpec(ids(group.topics_of(member)), target_of(group, name), member.metadata.instance_id)
        for name, member in group.members.items()
    }
    partitions = {image.topic_id: image.partitions for image in images.values()}
    return GroupSpec(members, partitions, group.is_homogeneous)
