"""Each request in each state of a group is answered as a real Kafka answers it.

OffsetCommit and TxnOffsetCommit are asked in `tests/conformance/memberships.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.groups.group_requests import (
    DELETE,
    DELETE_OFFSETS,
    DESCRIBE,
    JOIN,
    LEAVE,
    PROTOCOL,
    Member,
    code_of,
    members,
)
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

IDENTITIES: dict[str, dict[str, Any]] = {
    "right": {},
    "old-generation": {"generation_id": 0},
    "unknown-id": {"member_id": "nobody"},
    "no-id": {"member_id": ""},
    "anybody": {"member_id": "", "generation_id": -1},
    "instance": {"group_instance_id": "nobody"},
}
WORDS = {
    "ok": Code.NONE,
    "member": Code.UNKNOWN_MEMBER_ID,
    "generation": Code.ILLEGAL_GENERATION,
    "rebalance": Code.REBALANCE_IN_PROGRESS,
    "protocol": Code.INCONSISTENT_GROUP_PROTOCOL,
    "id": Code.MEMBER_ID_REQUIRED,
    "group": Code.GROUP_ID_NOT_FOUND,
    "busy": Code.NON_EMPTY_GROUP,
}
UNKNOWN, ALONE = "member " * 6, "generation member member member member"
KNOWN, FOREIGN = "ok ok member member member member", "protocol " * 6
JOINED, NEW = "ok ok member id id member", "member member member id id member"
TABLE = {
    # In each of the STATES six answers, one for each identity; where the identity does not matter, one.
    "heartbeat": (UNKNOWN, UNKNOWN, f"rebalance {ALONE}", f"ok {ALONE}", f"ok {ALONE}"),
    "sync": (UNKNOWN, UNKNOWN, f"rebalance {ALONE}", f"ok {ALONE}", f"ok {ALONE}"),
    "sync without protocol": (FOREIGN, FOREIGN, FOREIGN, FOREIGN, FOREIGN),
    "sync of another protocol": ("member", "member", "protocol", "protocol", "protocol"),
    "sync of another type": ("member", "member", "protocol", "protocol", "protocol"),
    "leave": (UNKNOWN, UNKNOWN, KNOWN, KNOWN, KNOWN),
    "join": (NEW, NEW, JOINED, JOINED, JOINED),
    "join with another protocol": (NEW, NEW, FOREIGN, FOREIGN, FOREIGN),
    "join with another type": (NEW, NEW, FOREIGN, FOREIGN, FOREIGN),
    "delete": ("group", "ok", "busy", "busy", "busy"),
    "delete offsets": ("group", "ok", "ok", "ok", "ok"),
}
"""What Kafka 4.1.1 answered, and answers again in every run that has one."""

# --- states


def dead(make: Callable[[], Member]) -> Member:
    member = make()
    member.member_id, member.generation = "somebody", 1
    return member


def completing(make: Callable[[], Member]) -> Member:
    member = make()
    assert member.join()["error_code"] == 0
    return member


def stable(make: Callable[[], Member]) -> Member:
    member = completing(make)
    assert member.sync({member.member_id: b"all"})["assignment"] == b"all"
    return member


def empty(make: Callable[[], Member]) -> Member:
    member = stable(make)
    assert member.leave() == 0
    return member


def preparing(make: Callable[[], Member]) -> Member:
    member, other = stable(make), make()
    other.send_join()
    while state_of(member) != "PreparingRebalance":
        """The other one's request travels on a connection of its own."""
    return member


def state_of(member: Member) -> str:
    answer = member.raw.ask(DESCRIBE, 5, groups=[member.group], include_authorized_operations=False)
    return answer["groups"][0]["group_state"]


STATES = {
    "Dead": dead,
    "Empty": empty,
    "PreparingRebalance": preparing,
    "CompletingRebalance": completing,
    "Stable": stable,
}

# --- requests


def leave(member: Member, topic: str, **identity: Any) -> int:
    who = member.who(**identity)
    leaver = Fields(member_id=who["member_id"], group_instance_id=who["group_instance_id"], reason=None)
    answer = member.raw.ask(LEAVE, 5, group_id=member.group, members=[leaver])
    return int(answer["members"][0]["error_code"])


def join(**changes: Any) -> Callable[..., int]:
    def ask(member: Member, topic: str, generation_id: int = 0, **identity: Any) -> int:
        member.raw.send(JOIN, 9, **member.joining(**changes, **identity))
        return int(member.raw.receive()["error_code"])

    return ask


def delete(member: Member, topic: str) -> int:
    return int(member.raw.ask(DELETE, 2, groups_names=[member.group])["results"][0]["error_code"])


def delete_offsets(member: Member, topic: str) -> int:
    topics = [Fields(name=topic, partitions=[Fields(partition_index=0)])]
    answer = member.raw.ask(DELETE_OFFSETS, 0, group_id=member.group, topics=topics)
    return int(answer["error_code"]) or code_of(answer)


def sync(**changes: Any) -> Callable[..., int]:
    def ask(member: Member, _: str, **identity: Any) -> int:
        return int(member.sync({member.member_id: b"more"}, **changes, **identity)["error_code"])

    return ask


REQUESTS: dict[str, Callable[..., int]] = {
    "heartbeat": lambda member, _, **identity: member.heartbeat(**identity),
    "sync": sync(),
    "sync without protocol": sync(protocol_name=None),
    "sync of another protocol": sync(protocol_name="other"),
    "sync of another type": sync(protocol_type="connect"),
    "leave": leave,
    "join": join(),
    "join with another protocol": join(protocols=[("other", b"")]),
    "join with another type": join(protocol_type="connect", protocols=[PROTOCOL]),
    "delete": delete,
    "delete offsets": delete_offsets,
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("request_name", TABLE)
def test_each_request_in_each_group_state_gets_kafkas_code(cluster, topic, request_name, state):
    """GRP-02: who may do what in which state, on the embedded broker as on a real Kafka."""
    words = TABLE[request_name][list(STATES).index(state)].split()
    expected = dict(zip(IDENTITIES, map(WORDS.get, words), strict=False))
    answered = {}
    for identity in expected:
        with members(cluster.bootstrap_servers) as make:
            member = STATES[state](make)
            answered[identity] = Code(REQUESTS[request_name](member, topic, **IDENTITIES[identity]))

    assert answered == expected
