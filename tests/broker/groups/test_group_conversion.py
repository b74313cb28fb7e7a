"""Groups with members go from one protocol to the other, with the answers of a real Kafka (KIP-848)."""

from __future__ import annotations

import uuid

import pytest

from broker.groups.classic_consumer import ClassicConsumer
from broker.groups.consumers import until
from broker.groups.group_requests import COMMIT, JOIN, LIST, Member, Raw, code_of, offsets
from broker.groups.heartbeating_member import HeartbeatingMember, settle
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import Subscription

PARTITIONS = 2
CUSTOM_ASSIGNOR = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
    "before re-attempting the upgrade"
)
NOT_UPGRADED = "Cannot upgrade classic group {} to consumer group because {}."


@pytest.fixture
def group():
    return f"g-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def topic(cluster):
    """One that a real Kafka's coordinator knows."""
    raw, name = Raw(cluster.bootstrap_servers), f"t-{uuid.uuid4().hex[:8]}"
    assert raw.create_topic(name, PARTITIONS) == Code.NONE
    looking = HeartbeatingMember(raw, f"looking-{name}", "one", name)
    until(lambda: settle(looking)["one"] == {name: (0, 1)})
    raw.close()
    return name


@pytest.fixture
def classic(raw, group, topic):
    """The only member of a classic group, with everything."""
    made = ClassicConsumer(raw, group, topic)
    made.lead(PARTITIONS)
    return made


@pytest.fixture
def modern(raw, group, topic):
    return HeartbeatingMember(raw, group, "modern", topic)


def kind(raw, group):
    """Type and state of a group."""
    every = raw.ask(LIST, 5, states_filter=(), types_filter=())["groups"]
    return next((each["group_type"], each["group_state"]) for each in every if each["group_id"] == group)


def share(classic, modern):
    """Have both members take what they shall have."""
    for _ in range(4):
        modern.beat()
        if classic.heartbeat() != Code.NONE:
            classic.join()
            classic.take()
    assert classic.heartbeat() == Code.NONE


@pytest.mark.parametrize("instance", [None, "i"])
def test_a_classic_group_goes_on_as_a_consumer_group_while_members_of_the_other_protocol_join(
    raw, group, topic, modern, instance
):
    """GRP-04: the member of before joins once to give up a partition, once for the epoch; then the other gets it."""
    classic = ClassicConsumer(raw, group, topic, instance)
    classic.lead(PARTITIONS)
    first = modern.beat()
    assert kind(raw, classic.group) == ("consumer", "Reconciling")
    shown = {each["member_id"]: each for each in modern.describe()["members"]}
    assert (classic.heartbeat(), classic.take()) == (Code.REBALANCE_IN_PROGRESS, Code.REBALANCE_IN_PROGRESS)
    gives_up = classic.join()
    assert (classic.take(), classic.numbers) == (Code.NONE, (0,))
    assert classic.heartbeat() == Code.REBALANCE_IN_PROGRESS
    waiting = modern.beat()
    again = classic.join()
    assert (classic.take(), classic.numbers, classic.heartbeat()) == (Code.NONE, (0,), Code.NONE)
    gets = modern.beat()
    version = classic.sync()["assignment"][:2]

    assert (first["member_epoch"], first["assignment"]["topic_partitions"]) == (2, [])
    assert not waiting["assignment"]["topic_partitions"]
    assert [each["partitions"] for each in gets["assignment"]["topic_partitions"]] == [(1,)]
    assert {name: each["member_type"] for name, each in shown.items()} == {"modern": 1, classic.member_id: 0}
    assert (gives_up["generation_id"], again["generation_id"]) == (1, 2)
    assert (again["leader"], list(again["members"]), again["protocol_name"]) == ("", [], "range")
    assert version == classic.protocols[0][1][:2] == b"\0\2"  # as its subscription
    assert kind(raw, classic.group) == ("consumer", "Stable")


def test_a_consumer_group_is_a_classic_one_again_once_only_such_members_are_left(raw, classic, modern):
    """GRP-04: with a rebalance, which the leader ends as before."""
    share(classic, modern)
    assert modern.beat(member_epoch=-1)["error_code"] == Code.NONE

    assert kind(raw, classic.group) == ("classic", "PreparingRebalance")
    assert classic.heartbeat() == Code.REBALANCE_IN_PROGRESS
    joined = classic.join()
    assert (joined["generation_id"], joined["leader"]) == (3, classic.member_id)
    assert classic.take(classic.every(PARTITIONS)) == Code.NONE
    assert kind(raw, classic.group) == ("classic", "Stable")


def test_a_classic_member_joins_a_group_that_began_as_a_consumer_group(raw, group, topic, modern):
    """GRP-04; when it leaves, the group stays a consumer group."""
    assert settle(modern) == {"modern": {topic: (0, 1)}}
    classic = ClassicConsumer(raw, group, topic)
    assert classic.join()["error_code"] == Code.NONE
    assert (classic.take(), classic.numbers) == (Code.NONE, ())
    assert classic.heartbeat() == Code.NONE  # nothing is free yet
    share(classic, modern)
    assert classic.numbers == (1,)

    assert classic.leave() == Code.NONE

    assert settle(modern) == {"modern": {topic: (0, 1)}}
    assert kind(raw, group) == ("consumer", "Stable")


def test_who_waits_in_a_rebalance_joins_again_when_the_group_is_upgraded(cluster, raw, classic, modern, topic):
    """GRP-04: nobody would end the rebalance any more."""
    other = ClassicConsumer(Raw(cluster.bootstrap_servers), classic.group, topic)
    other.send_join()
    until(lambda: classic.heartbeat() == Code.REBALANCE_IN_PROGRESS)

    assert modern.beat()["error_code"] == Code.NONE

    assert other.joined()["error_code"] == Code.REBALANCE_IN_PROGRESS
    assert kind(raw, classic.group)[0] == "consumer"
    assert {each["member_id"] for each in modern.describe()["members"]} == {
        "modern",
        classic.member_id,
        other.member_id,
    }
    other.raw.close()


def test_a_group_is_upgraded_while_its_first_assignment_is_awaited(raw, group, topic, modern):
    """GRP-04: its member has nothing yet."""
    classic = ClassicConsumer(raw, group, topic)
    assert classic.join()["error_code"] == Code.NONE

    assert modern.beat()["error_code"] == Code.NONE

    assert classic.take() == Code.REBALANCE_IN_PROGRESS
    share(classic, modern)
    assert len(classic.numbers) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"protocols": [("other", b"")]}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": [("range", b"")], "member_id": "any"}, Code.UNKNOWN_SERVER_ERROR),
        ({"group_instance_id": "i", "member_id": "any"}, Code.UNKNOWN_MEMBER_ID),
        ({"session_timeout": 1}, Code.INVALID_SESSION_TIMEOUT),
        ({}, Code.MEMBER_ID_REQUIRED),
    ],
)
def test_a_client_that_may_not_join_a_consumer_group_gets_the_reason(raw, classic, modern, changes, code):
    """GRP-04."""
    modern.beat()

    answer = raw.ask(JOIN, 9, **classic.joining(**{"member_id": "", **changes}))

    assert (answer["error_code"], answer["generation_id"]) == (code, -1)


def test_classic_members_of_a_consumer_group_are_fenced_by_their_generation(raw, classic, modern, topic):
    """GRP-02, GRP-04: as in a classic group."""
    share(classic, modern)

    assert classic.heartbeat(generation_id=1) == Code.ILLEGAL_GENERATION
    assert classic.heartbeat(member_id="modern") == Code.UNKNOWN_MEMBER_ID
    assert classic.heartbeat(member_id="nobody") == Code.UNKNOWN_MEMBER_ID
    for changes, code in (
        ({"generation_id": 1}, Code.ILLEGAL_GENERATION),
        ({"protocol_name": "roundrobin"}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "modern"}, Code.UNKNOWN_MEMBER_ID),
    ):
        assert classic.sync(**changes)["error_code"] == code
    for member_id, generation, version, code in (
        (classic.member_id, 2, 8, Code.NONE),
        (classic.member_id, 1, 9, Code.ILLEGAL_GENERATION),
        ("modern", 1, 9, Code.STALE_MEMBER_EPOCH),
        ("modern", 2, 8, Code.UNSUPPORTED_VERSION),
        ("modern", 2, 9, Code.NONE),
    ):
        who = {"group_id": classic.group, "member_id": member_id, "generation_id_or_member_epoch": generation}
        answer = raw.ask(COMMIT, version, **who, group_instance_id=None, topics=offsets(topic, p0=7))
        assert code_of(answer) == code


def test_a_static_member_goes_from_one_protocol_to_the_other_and_back(raw, group, topic):
    """GRP-04, KIP-345: it need not leave, and keeps its partitions; the group follows it in both directions."""
    classic = ClassicConsumer(raw, group, topic, "i")
    classic.lead(PARTITIONS)
    modern = HeartbeatingMember(raw, group, "modern", topic, instance_id="i")

    assert settle(modern) == {"modern": {topic: (0, 1)}}
    assert kind(raw, group) == ("consumer", "Stable")
    assert classic.heartbeat() == Code.FENCED_INSTANCE_ID
    back = ClassicConsumer(raw, group, topic, "i")
    joined = back.join()
    assert kind(raw, group) == ("classic", "Stable")
    assert (joined["error_code"], back.take(), back.numbers) == (Code.NONE, Code.NONE, (0, 1))
    assert back.heartbeat() == Code.NONE


def test_a_static_member_that_comes_back_for_another_topic_joins_once_more(raw, group, topic):
    """GRP-04, KIP-345: by the classic protocol, so that the group is one; then it leads."""
    modern = HeartbeatingMember(raw, group, "modern", topic, instance_id="i")
    settle(modern)
    classic = ClassicConsumer(raw, group, f"another-{group}", "i")

    first = classic.join()

    assert kind(raw, group) == ("classic", "PreparingRebalance")
    assert (first["generation_id"], classic.heartbeat(), classic.take()) == (0, *[Code.ILLEGAL_GENERATION] * 2)
    assert classic.join()["generation_id"] == 2
    assert classic.take() == Code.NONE


@pytest.mark.parametrize(
    ("protocol_type", "metadata", "user_data", "why"),
    [
        ("connect", b"", b"", "the group does not use the consumer embedded protocol"),
        ("consumer", b"\0", b"", "the embedded consumer protocol is malformed"),
        ("consumer", Subscription().encode(), b"mine", CUSTOM_ASSIGNOR),
    ],
)
def test_a_group_that_cannot_be_upgraded_stays_as_it_is(raw, group, modern, protocol_type, metadata, user_data, why):
    """GRP-04: members of Kafka Connect, what nobody can read, what an assignor keeps in assignments."""
    classic = Member(raw, group)
    classic.protocol_type, classic.protocols = protocol_type, [("range", metadata)]
    assert classic.join()["error_code"] == Code.NONE
    assignment = b"\0\0" + bytes(4) + len(user_data).to_bytes(4, "big") + user_data
    assert classic.sync({classic.member_id: assignment})["error_code"] == Code.NONE

    answer = modern.beat()

    assert (answer["error_code"], answer["error_message"]) == (
        Code.GROUP_ID_NOT_FOUND,
        NOT_UPGRADED.format(group, why),
    )
    assert classic.heartbeat() == Code.NONE
