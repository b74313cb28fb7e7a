"""Make a consumer group of a classic group with members, and the reverse (KIP-848).

Kafka's `ConsumerGroup.fromClassicGroup` and `ClassicGroup.fromConsumerGroup`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import (
    CONSUMER,
    Subscription,
    encode_assignment,
    read_assignment,
    schema_version,
)
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.members import Member
from eosfw_memory.server.coordinators.groups.modern.changes import (
    GroupMetadata,
    TargetAssignment,
    TargetAssignmentMetadata,
    put,
)
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup, target_of
from eosfw_memory.server.coordinators.groups.modern.member import (
    Assignment,
    ClassicMemberMetadata,
    ConsumerGroupMember,
    CurrentAssignment,
    MemberMetadata,
)
from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicsImage


def upgraded(classic: Group, topics: TopicsImage) -> ConsumerGroup:
    """The consumer group of a classic group's members, with what they were assigned last; raises GroupIdNotFound."""
    group = ConsumerGroup(classic.group_id)
    group.apply(put(GroupMetadata(classic.generation)))
    for member in classic.members.values():
        assigned, metadata = _assigned(classic, member, topics), _metadata(classic, member)
        group.apply(put(metadata, member.member_id))
        group.apply(put(TargetAssignment(assigned), member.member_id))
        current = CurrentAssignment(classic.generation, classic.generation, assigned=assigned)
        group.apply(put(current, member.member_id))
    group.apply(put(TargetAssignmentMetadata(classic.generation)))
    return group


def _metadata(classic: Group, member: Member) -> MemberMetadata:
    try:
        subscription = Subscription.read(member.metadata(classic.protocol_name or classic.choose_protocol()))
    except ValueError as why:
        raise _malformed(classic) from why
    return MemberMetadata(
        instance_id=member.instance_id,
        rack_id=subscription.rack,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=subscription.topics,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMemberMetadata(member.session_timeout_ms, member.protocols),
    )


def _assigned(classic: Group, member: Member, topics: TopicsImage) -> Assignment:
    if not member.assignment:  # its first rebalance is not complete
        return {}
    try:
        partitions, user_data = read_assignment(member.assignment)
    except ValueError as why:
        raise _malformed(classic) from why
    if user_data:
        raise cannot_upgrade(
            classic.group_id,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade",
        )
    return with_topic_ids(partitions, topics)


def _malformed(classic: Group) -> KafkaError:
    return cannot_upgrade(classic.group_id, "the embedded consumer protocol is malformed")


def cannot_upgrade(group_id: str, why: str) -> KafkaError:
    """The error of a client that wants to join a classic group by ConsumerGroupHeartbeat."""
    return KafkaError(
        Code.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group_id} to consumer group because {why}."
    )


def is_classic_without(group: ConsumerGroup, leaving: Collection[str]) -> bool:
    """Whether there are members but these, all of the classic protocol."""
    others = [member for name, member in group.members.items() if name not in leaving]
    return bool(others) and all(member.metadata.classic is not None for member in others)


def downgraded(group: ConsumerGroup, leaving: Collection[str], topics: TopicsImage, now_ms: int) -> Group:
    """The classic group of a consumer group's members but these, who are to have what the broker assigned them.

    It has no generation yet.
    """
    classic = Group(group.group_id, now_ms)
    for name, member in group.members.items():
        if name not in leaving and member.metadata.classic is not None:
            classic.add(_classic_member(member, member.metadata.classic), CONSUMER)
    classic.protocol_name = classic.choose_protocol()
    for name, made in classic.members.items():
        version = schema_version(made.metadata(classic.protocol_name))
        made.assignment = encode_assignment(with_topic_names(target_of(group, name), topics), version)
    classic.resume(now_ms)
    return classic


def _classic_member(member: ConsumerGroupMember, classic: ClassicMemberMetadata) -> Member:
    metadata = member.metadata
    return Member(
        member.member_id,
        metadata.instance_id,
        metadata.client_id,
        metadata.client_host,
        classic.session_timeout_ms,
        metadata.rebalance_timeout_ms,
        classic.protocols,
    )


def with_topic_ids(partitions: Iterable[TopicPartition], topics: TopicsImage) -> Assignment:
    """Partitions by the ids of their topics, without those of topics that do not exist."""
    found: dict[str, set[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, set()).add(number)
    images = {name: topics.topic(name) for name in found}
    return {image.topic_id: frozenset(found[name]) for name, image in images.items() if image is not None}


def with_topic_names(assignment: Assignment, topics: TopicsImage) -> list[TopicPartition]:
    """The partitions of an assignment, without those of topics that do not exist any more."""
    named = ((topics.name(topic_id), numbers) for topic_id, numbers in assignment.items())
    return [TopicPartition(name, number) for name, numbers in named if name is not None for number in sorted(numbers)]
