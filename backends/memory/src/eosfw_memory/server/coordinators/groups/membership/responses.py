"""The answers to JoinGroup and SyncGroup, by Kafka's field names."""

from __future__ import annotations

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.members import Member


def join_response(group: Group, member: Member, *, skip_assignment: bool = False) -> Answer:
    """The answer to a member that joined; the leader's has the other members, too."""
    leads = group.leader == member.member_id
    known = [
        {
            "member_id": each.member_id,
            "group_instance_id": each.instance_id,
            "metadata": each.metadata(group.protocol_name),
        }
        for each in (group.members.values() if leads else ())
    ]
    return {
        "error_code": Code.NONE,
        "generation_id": group.generation,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_name,
        "leader": group.leader,
        "skip_assignment": skip_assignment and leads,
        "member_id": member.member_id,
        "members": known,
    }


def join_error(member_id: str, code: Code) -> Answer:
    """The answer to a client that may not join."""
    return {
        "error_code": code,
        "generation_id": -1,
        "protocol_name": None,
        "leader": "",
        "member_id": member_id,
        "members": (),
    }


def sync_response(group: Group, member: Member) -> Answer:
    """The answer with a member's assignment."""
    return {
        "error_code": Code.NONE,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_name,
        "assignment": member.assignment,
    }


def sync_error(code: Code) -> Answer:
    """The answer to a member that gets no assignment."""
    return {"error_code": code, "assignment": b""}
