"""ConsumerGroupDescribe (69): describe consumer groups with their members (KIP-848).

Behaviour
- A group that does not exist, or is of the classic protocol, is GroupIdNotFound.
- A group with partitions of a topic that the client may not know of is TopicAuthorizationFailed.

Version notes: from 1 on members say of which protocol they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.modern.assignors.names import preferred_assignor
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup, target_of
from eosfw_memory.server.coordinators.groups.modern.member import Assignment, ConsumerGroupMember
from eosfw_memory.server.protocol.authorization import NOT_ASKED, allows, authorized_operations
from eosfw_memory.server.protocol.rights import GROUP_DESCRIBE, TOPIC_DESCRIBE
from eosfw_memory.server.security.acl.acl_binding import ResourceType

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1
_HIDDEN = "The group has described topic(s) that the client is not authorized to describe."


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each group."""
    shows_operations = request.include_authorized_operations
    return {"groups": [_group(broker, name, context, shows_operations=shows_operations) for name in request.group_ids]}


def _group(broker: Broker, group_id: str, context: Context, *, shows_operations: bool) -> Answer:
    if not allows(broker, context, GROUP_DESCRIBE, group_id):
        return _refused(group_id, GROUP_DESCRIBE.denied)
    try:
        group = broker.groups.consumer_groups.existing(group_id)
    except KafkaError as unknown:
        return _refused(group_id, unknown.code, unknown.message)
    if not all(allows(broker, context, TOPIC_DESCRIBE, name) for name in _topic_names(broker, group)):
        return _refused(group_id, TOPIC_DESCRIBE.denied, _HIDDEN)
    operations = authorized_operations(broker, context, ResourceType.GROUP, group_id) if shows_operations else NOT_ASKED
    return {
        "error_code": Code.NONE,
        "group_id": group_id,
        "group_state": group.state.value,
        "group_epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor_name": preferred_assignor(each.metadata.server_assignor for each in group.members.values()),
        "members": [_member(broker, group, each) for each in group.members.values()],
        "authorized_operations": operations,
    }


def _refused(group_id: str, code: Code, message: str | None = None) -> Answer:
    return {
        "error_code": code,
        "error_message": message,
        "group_id": group_id,
        "group_state": "",
        "group_epoch": 0,
        "assignment_epoch": 0,
        "assignor_name": "",
        "members": (),
    }


def _topic_names(broker: Broker, group: ConsumerGroup) -> Iterator[str]:
    """The names of the topics that a description of the group has."""
    for name, member in group.members.items():
        for topic_id in {*member.current.assigned, *target_of(group, name)}:
            topic = broker.topics.by_id(topic_id)
            if topic is not None:
                yield topic.name


def _member(broker: Broker, group: ConsumerGroup, member: ConsumerGroupMember) -> Answer:
    metadata = member.metadata
    return {
        "member_id": member.member_id,
        "instance_id": metadata.instance_id,
        "rack_id": metadata.rack_id,
        "member_epoch": member.current.member_epoch,
        "client_id": metadata.client_id,
        "client_host": metadata.client_host,
        "subscribed_topic_names": sorted(metadata.topic_names),
        "subscribed_topic_regex": metadata.topic_regex,
        "assignment": _assignment(broker, member.current.assigned),
        "target_assignment": _assignment(broker, target_of(group, member.member_id)),
        "member_type": _CONSUMER_MEMBER if metadata.classic is None else _CLASSIC_MEMBER,
    }


def _assignment(broker: Broker, assignment: Assignment) -> Answer:
    """Partitions with the names of their topics; a topic that was deleted is left out."""
    topics = [(broker.topics.by_id(topic_id), partitions) for topic_id, partitions in assignment.items()]
    shown = [
        {"topic_id": topic.topic_id, "topic_name": topic.name, "partitions": sorted(partitions)}
        for topic, partitions in topics
        if topic is not None
    ]
    return {"topic_partitions": shown}
