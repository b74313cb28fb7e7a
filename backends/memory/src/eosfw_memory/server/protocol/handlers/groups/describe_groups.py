"""DescribeGroups (15): describe groups with their members.

Behaviour
- A group that does not exist is Dead; so is a consumer group, which ConsumerGroupDescribe describes.
- The metadata and assignments of members are shown only while the group is stable.

Version notes: static members from 4 on; from 6 on an unknown group is GroupIdNotFound.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.members import Member
from eosfw_memory.server.protocol.authorization import NOT_ASKED, allows, authorized_operations
from eosfw_memory.server.protocol.rights import GROUP_DESCRIBE
from eosfw_memory.server.security.acl.acl_binding import ResourceType

_NOT_FOUND_VERSION = 6


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each group."""
    shows_operations = getattr(request, "include_authorized_operations", False)
    return {"groups": [_group(broker, name, context, shows_operations=shows_operations) for name in request.groups]}


def _group(broker: Broker, group_id: str, context: Context, *, shows_operations: bool) -> Answer:
    if not allows(broker, context, GROUP_DESCRIBE, group_id):
        return _denied(group_id)
    group = broker.groups.group(group_id)
    operations = authorized_operations(broker, context, ResourceType.GROUP, group_id) if shows_operations else NOT_ASKED
    if not isinstance(group, Group):
        dead = _dead(group_id, operations)
        if context.version < _NOT_FOUND_VERSION:
            return dead
        why = f"Group {group_id} {'not found' if group is None else 'is not a classic group'}."
        return {**dead, "error_code": Code.GROUP_ID_NOT_FOUND, "error_message": why, "authorized_operations": NOT_ASKED}
    stable = group.state is GroupState.STABLE
    return {
        "error_code": Code.NONE,
        "group_id": group_id,
        "group_state": group.state.value,
        "protocol_type": group.protocol_type or "",
        "protocol_data": (group.protocol_name or "") if stable else "",
        "members": [_member(group, each, stable=stable) for each in group.members.values()],
        "authorized_operations": operations,
    }


def _denied(group_id: str) -> Answer:
    return {
        "error_code": GROUP_DESCRIBE.denied,
        "group_id": group_id,
        "group_state": "",
        "protocol_type": "",
        "protocol_data": "",
        "members": (),
    }


def _dead(group_id: str, operations: int) -> Answer:
    return {
        "error_code": Code.NONE,
        "group_id": group_id,
        "group_state": GroupState.DEAD.value,
        "protocol_type": "",
        "protocol_data": "",
        "members": (),
        "authorized_operations": operations,
    }


def _member(group: Group, member: Member, *, stable: bool) -> Answer:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata(group.protocol_name) if stable else b"",
        "member_assignment": member.assignment,
    }
