"""Members of a group find each other, are replaced, leave: on the embedded broker as on a real Kafka."""

from __future__ import annotations

import pytest

from broker.groups.group_requests import (
    COMMIT,
    DESCRIBE,
    HEARTBEAT,
    JOIN,
    LEAVE,
    LIST,
    OTHER_PROTOCOL,
    PROTOCOL,
    SYNC,
    code_of,
    members,
    offsets,
)
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code


@pytest.fixture
def make(cluster, admin):
    with members(cluster.bootstrap_servers) as make:
        yield make


def gathered(*ones):
    """Bring members into one generation, whose assignments are not there yet; give what each was told."""
    first = ones[0]
    first.enter()
    for one in ones[1:]:
        one.send_join()
    while len(described(first)["members"]) < len(ones):
        """Each request travels on a connection of its own."""
    first.send_join()
    return [one.joined() for one in ones]


def together(*ones):
    """Bring members into one generation, in which everybody's work is its own name."""
    answers = gathered(*ones)
    leader = answers[0]["leader"]
    for one in ones:
        work = {each.member_id: each.member_id.encode() for each in ones} if one.member_id == leader else {}
        one.raw.send(SYNC, 5, **one.syncing(work))
    return answers, [one.raw.receive() for one in ones]


def described(one):
    return one.raw.ask(DESCRIBE, 5, groups=[one.group], include_authorized_operations=False)["groups"][0]


def test_the_group_protocol_is_the_most_preferred_common_one(make):
    """KIP-98's clients and Connect's workers alike: the broker does not know the protocols."""
    a, b, c = make(), make(), make()
    a.protocols = [PROTOCOL, OTHER_PROTOCOL]
    b.protocols = c.protocols = [("mine", b""), OTHER_PROTOCOL, PROTOCOL]

    answers = gathered(a, b, c)

    assert {answer["protocol_name"] for answer in answers} == {OTHER_PROTOCOL[0]}


def test_a_returning_static_member_keeps_its_assignment_and_fences_its_old_id(make):
    """KIP-345: no rebalance, the same generation; the old id is shut out everywhere."""
    a, b = make("a"), make("b")
    together(a, b)
    old_id, generation = a.member_id, a.generation
    back = make("a")

    answer = back.join()

    assert (answer["error_code"], answer["generation_id"]) == (0, generation)
    assert back.member_id != old_id
    assert back.sync()["assignment"] == old_id.encode()
    assert [Code(one.heartbeat()) for one in (a, b, back)] == [Code.FENCED_INSTANCE_ID, Code.NONE, Code.NONE]
    assert Code(a.sync()["error_code"]) is Code.FENCED_INSTANCE_ID
    assert Code(a.joined_again()["error_code"]) is Code.FENCED_INSTANCE_ID
    assert Code(a.leave()) is Code.FENCED_INSTANCE_ID


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_returning_static_leader_learns_whether_to_assign_again(make, version):
    """KIP-814: from version 9 on it learns that it leads and may skip the assignment."""
    a, b = make("a"), make("b")
    together(a, b)
    back = make("a")

    answer = back.join(version)

    if version < 9:
        assert (answer["leader"], len(answer["members"])) == (a.member_id, 0)
    else:
        assert (answer["leader"], len(answer["members"])) == (back.member_id, 2)
        assert answer["skip_assignment"]


def test_a_static_member_with_other_protocols_triggers_a_rebalance(make):
    """KIP-345: the chosen protocol would change."""
    a, back = make("a"), make("a")
    a.protocols, back.protocols = [PROTOCOL, OTHER_PROTOCOL], [OTHER_PROTOCOL]
    together(a)

    answer = back.join()

    assert (answer["generation_id"], answer["protocol_name"]) == (a.generation + 1, OTHER_PROTOCOL[0])


def test_members_leave_together_by_name_or_by_instance(make):
    """LeaveGroup 3 and later: each has an answer of its own."""
    a, b, c = make("a"), make(), make()
    together(a, b, c)
    leavers = [("", "a"), (b.member_id, None), ("nobody", None), ("", "nobody"), (c.member_id, "a")]

    answer = c.raw.ask(
        LEAVE,
        5,
        group_id=c.group,
        members=[Fields(member_id=name, group_instance_id=instance, reason="done") for name, instance in leavers],
    )

    codes = [Code(each["error_code"]) for each in answer["members"]]
    assert codes == [Code.NONE, Code.NONE, *[Code.UNKNOWN_MEMBER_ID] * 3]
    assert [(each["member_id"], each["group_instance_id"]) for each in answer["members"]] == leavers
    assert Code(c.heartbeat()) is Code.REBALANCE_IN_PROGRESS


def test_a_group_that_all_members_left_while_another_is_expected_takes_clients_in(make, until):
    """In the middle of a rebalance; who is expected has its member id, and may never come."""
    first, second, expected, other = make("a"), make("b"), make(), make("c")
    first.enter()
    expected.get_id()
    second.send_join()
    until(lambda: len(described(first)["members"]) == 2)  # each request travels on a connection of its own
    leavers = [Fields(member_id="", group_instance_id=instance, reason=None) for instance in ("a", "b")]
    first.raw.ask(LEAVE, 5, group_id=first.group, members=leavers)

    other.send_join()
    until(lambda: described(first)["members"])
    expected.send_join()

    answers = [other.joined(), expected.joined()]
    assert [Code(each["error_code"]) for each in answers] == [Code.NONE, Code.NONE]
    assert [each["generation_id"] for each in answers] == [2, 2]


@pytest.mark.parametrize("version", [0, 2])
def test_an_old_client_leaves_alone(make, version):
    a = make()
    together(a)

    assert a.raw.ask(LEAVE, version, group_id=a.group, member_id="nobody")["error_code"] == Code.UNKNOWN_MEMBER_ID
    assert a.raw.ask(LEAVE, version, group_id=a.group, member_id=a.member_id)["error_code"] == 0


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"session_timeout": 5_999}, Code.INVALID_SESSION_TIMEOUT),
        ({"session_timeout": 1_800_001}, Code.INVALID_SESSION_TIMEOUT),
        ({"group_id": ""}, Code.INVALID_GROUP_ID),
        ({"protocols": []}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, Code.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_an_invalid_join_group_request_is_refused(make, changes, code):
    a = make()

    assert Code(a.raw.ask(JOIN, 9, **a.joining(**changes))["error_code"]) is code


@pytest.mark.parametrize("version", [2, 3])
def test_a_client_older_than_required_member_ids_joins_at_once(make, version):
    """KIP-394: from version 4 on it comes twice."""
    a = make()

    a.raw.send(JOIN, version, **a.joining())
    answer = a.joined()

    assert (answer["error_code"], answer["generation_id"], answer["leader"]) == (0, 1, a.member_id)
    assert answer["protocol_name"] == PROTOCOL[0]


def test_requests_without_a_group_are_refused(make):
    a = make()
    who = a.who(group_id="", member_id="x", generation_id=1)

    assert Code(a.raw.ask(HEARTBEAT, 4, **who)["error_code"]) is Code.INVALID_GROUP_ID
    assert Code(a.sync(group_id="")["error_code"]) is Code.INVALID_GROUP_ID
    leaver = Fields(member_id="x", group_instance_id=None, reason=None)
    assert Code(a.raw.ask(LEAVE, 5, group_id="", members=[leaver])["error_code"]) is Code.INVALID_GROUP_ID


def test_the_assignment_waits_for_the_leader(make):
    """GRP-02: a follower that asks first is answered once the leader has spoken."""
    a, b = make(), make()
    leads = gathered(a, b)[0]["leader"] == a.member_id
    leader, follower = (a, b) if leads else (b, a)
    follower.raw.send(SYNC, 5, **follower.syncing())

    leader.sync({follower.member_id: b"yours"})

    assert follower.raw.receive()["assignment"] == b"yours"


def test_a_member_waiting_for_its_assignment_learns_of_a_rebalance(make):
    a, b, c = make(), make(), make()
    leads = gathered(a, b)[0]["leader"] == a.member_id
    follower = b if leads else a
    follower.raw.send(SYNC, 5, **follower.syncing())
    c.send_join()

    assert Code(follower.raw.receive()["error_code"]) is Code.REBALANCE_IN_PROGRESS


def test_groups_are_listed_and_described(make):
    """DescribeGroups and ListGroups: state, type, members and their metadata."""
    a = make("a")
    together(a)

    message = described(a)
    listed = a.raw.ask(LIST, 5, states_filter=["stable"], types_filter=["Classic"])["groups"]
    others = a.raw.ask(LIST, 5, states_filter=["Empty"], types_filter=[])["groups"]

    assert (message["group_state"], message["protocol_type"], message["protocol_data"]) == (
        "Stable",
        "consumer",
        PROTOCOL[0],
    )
    (member,) = message["members"]
    assert (member["member_id"], member["group_instance_id"], member["client_id"]) == (a.member_id, "a", "raw")
    assert member["client_host"] == "/127.0.0.1"
    assert (member["member_metadata"], member["member_assignment"]) == (PROTOCOL[1], a.member_id.encode())
    mine = next(each for each in listed if each["group_id"] == a.group)
    assert (mine["group_state"], mine["group_type"], mine["protocol_type"]) == ("Stable", "classic", "consumer")
    assert a.group not in {each["group_id"] for each in others}


def test_a_group_of_workers_is_no_group_of_consumers(make, topic):
    """Kafka Connect's type: its offsets cannot be deleted while it has members."""
    a = make()
    a.protocol_type, a.protocols = "connect", [("sessioned", b"any bytes")]
    together(a)
    who = a.who(generation_id_or_member_epoch=a.generation)

    assert code_of(a.raw.ask(COMMIT, 9, topics=offsets(topic, p0=1), **who)) == 0
    deleted = a.raw.ask(47, 0, group_id=a.group, topics=[Fields(name=topic, partitions=[Fields(partition_index=0)])])
    assert Code(deleted["error_code"]) is Code.NON_EMPTY_GROUP
