"""Describe a group through kafka-python's protocol layer, which shows groups of every kind."""

from __future__ import annotations

from typing import Any, Final

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from eosfw.ids import TopicPartition
from eosfw.kafka_codes import Code
from eosfw.protocols import GroupDescription, MemberDescription
from eosfw_kafka_python.connection import Response

_CONSUMER: Final = "consumer"


def group_description(found: Response) -> GroupDescription:
    """A group, from its coordinator's answer; one that it does not know is Dead."""
    members = tuple(_member(each, found.protocol_type) for each in found.members)
    return GroupDescription(found.group_id, found.group_state, found.protocol_type, members)


def group_code(answer: Response) -> int:
    """The error code of an answer about one group; that it is unknown is no error."""
    code = int(answer.groups[0].error_code)
    return Code.NONE if code == Code.GROUP_ID_NOT_FOUND else code


def _member(found: Any, protocol_type: str) -> MemberDescription:
    """A member; Kafka shows a host with a slash before it."""
    owned: frozenset[TopicPartition] = frozenset()
    if protocol_type == _CONSUMER and found.member_assignment:
        assigned = ConsumerProtocolAssignment.decode(found.member_assignment).partitions()
        owned = frozenset(TopicPartition(*one) for one in assigned)
    return MemberDescription(found.member_id, found.client_id, found.client_host.removeprefix("/"), owned)
