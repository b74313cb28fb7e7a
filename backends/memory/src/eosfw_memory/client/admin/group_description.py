"""Describe a group: its kind, its state, its members (Kafka's `DescribeClassicGroupsHandler`)."""

from __future__ import annotations

from typing import Any

from eosfw.error_table import ADMIN
from eosfw.protocols import GroupDescription, MemberDescription
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.consumer.consumer_protocol import CONSUMER, decode_assignment
from eosfw_memory.client.coordinator import Coordinator, CoordinatorRequest
from eosfw_memory.client.metadata import ClusterMetadata, CoordinatorType
from eosfw_memory.client.transport.apis import DESCRIBE_GROUPS, Fields
from eosfw_memory.client.transport.errors import unavailable
from eosfw_memory.common.codes import Code


def describe_group(metadata: ClusterMetadata, group_id: str, timer: RetryTimer) -> GroupDescription:
    """The group as its coordinator shows it; one that it does not know is Dead."""
    request = Fields(groups=(group_id,), include_authorized_operations=False)
    coordinator = Coordinator(metadata, group_id, CoordinatorType.GROUP)
    answer = coordinator.ask(CoordinatorRequest(DESCRIBE_GROUPS, request, ADMIN, _code, unavailable), timer)
    found = answer["groups"][0]
    members = tuple(_member(each, found["protocol_type"]) for each in found["members"])
    return GroupDescription(group_id, found["group_state"], found["protocol_type"], members)


def _member(found: Any, protocol_type: str) -> MemberDescription:
    """A member; Kafka shows a host with a slash before it."""
    owned = decode_assignment(found["member_assignment"]) if protocol_type == CONSUMER else frozenset()
    return MemberDescription(found["member_id"], found["client_id"], found["client_host"].removeprefix("/"), owned)


def _code(answer: Any) -> int:
    code = int(answer["groups"][0]["error_code"])
    return Code.NONE if code == Code.GROUP_ID_NOT_FOUND else code
