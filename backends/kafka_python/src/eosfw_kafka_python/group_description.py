"""Describe a group through kafka-python's protocol layer, which shows groups of every kind."""

from __future__ import annotations

from typing import Any, Final

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from kafka.protocol.metadata import CoordinatorType

from eosfw.ids import TopicPartition
from eosfw.kafka_codes import Code
from eosfw.protocols import GroupDescription, MemberDescription
from eosfw_kafka_python.broker_lookup import BrokerLookup
from eosfw_kafka_python.connection import Response
from eosfw_kafka_python.errors import ADMIN

_CONSUMER: Final = "consumer"


def describe_group(brokers: BrokerLookup, group_id: str, deadline: float, what: str) -> GroupDescription:
    """The group as its coordinator shows it; one that it does not know is Dead."""
    answer, _ = brokers.send_to_coordinator(
        lambda: DescribeGroupsRequest(groups=[group_id], include_authorized_operations=False),
        (group_id, CoordinatorType.GROUP),
        deadline,
        (ADMIN, _code, what),
    )
    found = answer.groups[0]
    members = tuple(_member(each, found.protocol_type) for each in found.members)
    return GroupDescription(group_id, found.group_state, found.protocol_type, members)


def _member(found: Any, protocol_type: str) -> MemberDescription:
    """A member; Kafka shows a host with a slash before it."""
    owned: frozenset[TopicPartition] = frozenset()
    if protocol_type == _CONSUMER and found.member_assignment:
        assigned = ConsumerProtocolAssignment.decode(found.member_assignment).partitions()
        owned = frozenset(TopicPartition(*one) for one in assigned)
    return MemberDescription(found.member_id, found.client_id, found.client_host.removeprefix("/"), owned)


def _code(answer: Response) -> int:
    code = int(answer.groups[0].error_code)
    return Code.NONE if code == Code.GROUP_ID_NOT_FOUND else code
