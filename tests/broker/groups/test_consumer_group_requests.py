"""Requests of members of consumer groups (KIP-848) get the answers of a real Kafka."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from confluent_kafka.admin import NewPartitions

from broker.groups.consumers import WAIT, until
from broker.groups.group_requests import COMMIT, DELETE, FETCH, LEAVE, LIST, Member, Raw, code_of, offsets
from broker.groups.group_requests import DESCRIBE as DESCRIBE_CLASSIC
from broker.groups.heartbeating_member import HEARTBEAT, HeartbeatingMember, settle
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code


@pytest.fixture
def group():
    return f"g-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def member(raw, group):
    """Makes members of one group."""
    return lambda name, *topics, **settings: HeartbeatingMember(raw, group, name, *topics, **settings)


@pytest.fixture
def new_topic(raw):
    """Makes topics that the coordinator knows: a real Kafka's learns of them a little later."""

    def make(partitions=1, name=None):
        name = name or f"t-{uuid.uuid4().hex[:8]}"
        assert raw.create_topic(name, partitions) == Code.NONE
        looking = HeartbeatingMember(raw, f"looking-{name}", "one", name)
        until(lambda: settle(looking)["one"] == {name: tuple(range(partitions))})
        return name

    return make


@pytest.fixture
def topic(new_topic):
    return new_topic()


@pytest.mark.parametrize(
    ("assignor", "expected"),
    [
        ("range", {"one": (0, 1, 2), "three": (3, 4), "two": (5, 6)}),
        ("uniform", {"one": (0, 1, 2), "three": (3, 6), "two": (4, 5)}),
    ],
)
def test_assignors_give_members_the_partitions_that_kafka_gives_them(new_topic, member, assignor, expected):
    """GRP-04: one after the other joins, then one leaves."""
    topic = new_topic(7)
    one, two, three = (member(name, topic, server_assignor=assignor) for name in ("one", "two", "three"))

    assert settle(one) == {"one": {topic: tuple(range(7))}}
    settle(one, two)
    assert settle(one, two, three) == {name: {topic: numbers} for name, numbers in expected.items()}


def test_members_with_different_subscriptions_share_what_they_have_in_common(new_topic, member):
    """GRP-04: the uniform assignor balances the members, not each topic."""
    both, own = new_topic(4), new_topic(2)
    one, other = member("one", both), member("other", both, own)

    shares = settle(one, other)

    assert {name: len(each.get(both, ())) for name, each in shares.items()} == {"one": 3, "other": 1}
    assert shares["other"][own] == (0, 1)


def test_a_partition_changes_its_owner_only_after_the_first_one_gave_it_up(new_topic, member):
    """GRP-04: revocation before assignment, epoch by epoch."""
    one, other = member("one", topic := new_topic(2)), member("other", topic)
    one.beat()
    owned = [Fields(topic_id=topic_id, partitions=numbers) for topic_id, numbers in one.partitions.items()]

    waiting = other.beat()
    told = one.beat()
    again = other.beat()
    still = one.beat(topic_partitions=[*owned, *owned[:1], Fields(topic_id=owned[0].topic_id, partitions=(0,))])

    assert not waiting["assignment"]["topic_partitions"]
    assert [each["partitions"] for each in told["assignment"]["topic_partitions"]] == [(0,)]
    assert (told["member_epoch"], again["member_epoch"], still["member_epoch"]) == (1, 2, 1)
    assert not again["assignment"]["topic_partitions"]
    assert one.beat()["member_epoch"] == 2
    assert [each["partitions"] for each in other.beat()["assignment"]["topic_partitions"]] == [(1,)]


def test_a_member_of_the_first_version_may_have_its_id_from_the_broker(new_topic, raw, group):
    """GRP-04: from version 1 on clients choose it."""
    joining = {
        "group_id": group,
        "member_id": "",
        "member_epoch": 0,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": milliseconds(60),
        "subscribed_topic_names": [new_topic()],
        "server_assignor": None,
        "topic_partitions": (),
    }

    first, second = (raw.ask(HEARTBEAT, 0, **joining) for _ in range(2))

    assert first["error_code"] == second["error_code"] == Code.NONE
    assert first["member_id"] != second["member_id"]
    assert "" not in (first["member_id"], second["member_id"])
    assert (first["member_epoch"], len(first["assignment"]["topic_partitions"])) == (1, 1)


def test_a_member_goes_on_by_one_epoch_while_it_has_to_give_up_more(new_topic, member):
    """GRP-04: the target assignment changed while it gave up partitions."""
    topic = new_topic(3)
    one, two, three = (member(name, topic, server_assignor="range") for name in ("one", "two", "three"))
    settle(one)

    two.beat()
    one.beat()
    three.beat()
    told = one.beat()

    assert (one.describe()["group_epoch"], told["member_epoch"]) == (3, 2)
    assert [each["partitions"] for each in told["assignment"]["topic_partitions"]] == [(0,)]
    assert one.beat()["member_epoch"] == 3


def test_a_member_of_another_epoch_is_fenced_unless_its_last_answer_was_lost(new_topic, member):
    """GRP-04: an answer with a new epoch may be lost, so the epoch before is good once more."""
    one, other = member("one", topic := new_topic(2)), member("other", topic)
    settle(one)
    before = [Fields(topic_id=topic_id, partitions=numbers) for topic_id, numbers in one.partitions.items()]
    settle(one, other)

    assert one.beat(member_epoch=1, topic_partitions=before)["error_code"] == Code.FENCED_MEMBER_EPOCH
    assert one.beat(member_epoch=1)["error_code"] == Code.NONE
    assert one.beat(member_epoch=9)["error_code"] == Code.FENCED_MEMBER_EPOCH
    assert other.beat(member_epoch=0, topic_partitions=())["error_code"] == Code.FENCED_MEMBER_EPOCH
    assert member("nobody", topic).beat(member_epoch=2)["error_code"] == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"member_id": ""}, Code.INVALID_REQUEST),
        ({"group_id": ""}, Code.INVALID_REQUEST),
        ({"rebalance_timeout": timedelta(milliseconds=-1)}, Code.INVALID_REQUEST),
        ({"topic_partitions": None}, Code.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, Code.INVALID_REQUEST),
        ({"member_epoch": -2}, Code.INVALID_REQUEST),
        ({"member_epoch": -3}, Code.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, Code.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "("}, Code.INVALID_REGULAR_EXPRESSION),
        ({"member_epoch": 1}, Code.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, Code.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_refused(member, topic, changes, code):
    """GRP-04; nothing of it creates a group."""
    answer = member("one", topic).beat(**changes)

    assert (answer["error_code"], answer["member_epoch"], answer["assignment"]) == (code, 0, None)
    assert member("one", topic).describe()["error_code"] == Code.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("cluster", ["embedded"], indirect=True)
@pytest.mark.parametrize("field", ["group_id", "member_id", "instance_id", "subscribed_topic_regex"])
def test_a_name_that_no_record_can_hold_is_refused_by_a_sentence(member, topic, field):
    """GRP-04: Kafka closes the connection."""
    answer = member("one", topic).beat(**{field: "ä" * 16_384})

    assert (answer["error_code"], answer["error_message"]) == (
        Code.INVALID_REQUEST,
        "A name is longer than 32767 bytes.",
    )


def test_a_static_member_comes_back_to_its_partitions_under_another_member_id(new_topic, member):
    """GRP-04, KIP-345: it leaves with epoch -2; meanwhile nobody gets its partitions, or its name."""
    topic = new_topic(2)
    one, other = member("one", topic, instance_id="i"), member("other", topic)
    before = settle(one, other)["one"]

    taken = member("early", topic, instance_id="i").beat()
    left = one.beat(member_epoch=-2)
    back = member("back", topic, instance_id="i")

    assert taken["error_code"] == Code.UNRELEASED_INSTANCE_ID
    assert (left["error_code"], left["member_epoch"]) == (Code.NONE, -2)
    assert settle(back, other)["back"] == before
    assert one.beat(member_epoch=2)["error_code"] == Code.FENCED_INSTANCE_ID


def test_a_static_member_that_leaves_for_a_while_has_nothing_more_to_give_up(new_topic, member):
    """GRP-04, KIP-345: what it was told to give up is free at once."""
    one, other = member("one", topic := new_topic(2), instance_id="i"), member("other", topic)
    settle(one)
    other.beat()
    one.beat()
    assert not other.beat()["assignment"]["topic_partitions"]

    one.beat(member_epoch=-2)

    assert [each["partitions"] for each in other.beat()["assignment"]["topic_partitions"]] == [(1,)]


def test_new_partitions_and_topics_begin_another_assignment(new_topic, admin, member, raw):
    """GRP-04: members need no new subscription."""
    topic, late = new_topic(1), f"late-{uuid.uuid4().hex[:8]}"
    one = member("one", topic, late)
    assert settle(one) == {"one": {topic: (0,)}}

    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(WAIT)
    until(lambda: settle(one)["one"] == {topic: (0, 1, 2)})
    assert raw.create_topic(late, 2) == Code.NONE
    until(lambda: settle(one)["one"] == {topic: (0, 1, 2), late: (0, 1)})


def test_a_member_gets_the_topics_whose_whole_names_match_its_regular_expression(new_topic, member):
    """GRP-04."""
    stem = uuid.uuid4().hex[:8]
    for name in (f"{stem}-one", f"not-{stem}-one", f"{stem}-two"):
        new_topic(1, name)
    one = member("one", subscribed_topic_names=None, subscribed_topic_regex=f"{stem}-(one|t.*)")

    until(lambda: settle(one)["one"] == {f"{stem}-one": (0,), f"{stem}-two": (0,)})


def test_a_topic_that_comes_later_matches_a_regular_expression(embedded, group):
    """GRP-04: with the next heartbeat; Kafka looks again after 10 s at the earliest."""
    raw, stem = Raw(embedded), uuid.uuid4().hex[:8]
    one = HeartbeatingMember(raw, group, "one", subscribed_topic_names=None, subscribed_topic_regex=f"{stem}-.*")
    assert settle(one) == {"one": {}}

    raw.create_topic(f"{stem}-late", 2)

    assert settle(one) == {"one": {f"{stem}-late": (0, 1)}}
    raw.close()


def test_a_description_shows_the_group_and_each_member(new_topic, member, raw, group):
    """GRP-04: ConsumerGroupDescribe, ListGroups; DescribeGroups knows classic groups alone."""
    one, other = member("one", topic := new_topic(2)), member("other", topic, instance_id="i")
    settle(one)
    other.beat()

    found = one.describe()
    [shown] = [each for each in found["members"] if each["member_id"] == "other"]
    [classic] = raw.ask(DESCRIBE_CLASSIC, 6, groups=[group], include_authorized_operations=False)["groups"]

    assert (found["group_state"], found["group_epoch"], found["assignment_epoch"]) == ("Reconciling", 2, 2)
    assert (found["assignor_name"], len(found["members"])) == ("uniform", 2)
    assert (shown["instance_id"], shown["member_epoch"], shown["client_id"]) == ("i", 2, "raw")
    assert (shown["subscribed_topic_names"], shown["member_type"]) == ((topic,), 1)
    assert not shown["assignment"]["topic_partitions"]
    [target] = shown["target_assignment"]["topic_partitions"]
    assert (target["topic_name"], target["partitions"]) == (topic, (1,))
    assert (classic["error_code"], classic["group_state"]) == (Code.GROUP_ID_NOT_FOUND, "Dead")
    assert _listed(raw, group, types_filter=["consumer"]) == [("consumer", "Reconciling", "consumer")]
    assert _listed(raw, group, types_filter=["classic"]) == []
    assert _listed(raw, group, states_filter=["stable"]) == []


def test_offsets_are_committed_and_fetched_by_members_of_their_epoch_alone(new_topic, member, raw, group):
    """GRP-02, GRP-04: a member that others may have replaced commits nothing."""
    one = member("one", topic := new_topic(1))
    settle(one)

    assert _commit(raw, group, topic, "one", 1) == Code.NONE
    assert _commit(raw, group, topic, "one", 0) == Code.STALE_MEMBER_EPOCH
    assert _commit(raw, group, topic, "one", 2) == Code.STALE_MEMBER_EPOCH
    assert _commit(raw, group, topic, "other", 1) == Code.UNKNOWN_MEMBER_ID
    assert _commit(raw, group, topic, "", -1) == Code.UNKNOWN_MEMBER_ID
    assert _commit(raw, group, topic, "one", 1, version=8) == Code.UNSUPPORTED_VERSION
    assert _fetch(raw, group, topic, "one", 1) == (Code.NONE, 7)
    assert _fetch(raw, group, topic, None, -1) == (Code.NONE, 7)
    assert _fetch(raw, group, topic, "one", 2) == (Code.STALE_MEMBER_EPOCH, None)
    assert _fetch(raw, group, topic, "other", 1) == (Code.UNKNOWN_MEMBER_ID, None)


def test_a_group_is_deleted_once_its_members_left(new_topic, member, raw, group):
    """GRP-04: without members anybody commits, and the group goes with its offsets."""
    one = member("one", topic := new_topic(1))
    settle(one)

    assert _delete(raw, group) == Code.NON_EMPTY_GROUP
    left = one.beat(member_epoch=-1)
    assert (left["error_code"], left["member_epoch"]) == (Code.NONE, -1)
    assert one.describe()["group_state"] == "Empty"
    assert _commit(raw, group, topic, "", -1) == Code.NONE
    assert _delete(raw, group) == Code.NONE
    assert one.describe()["error_code"] == Code.GROUP_ID_NOT_FOUND
    assert _fetch(raw, group, topic, None, -1) == (Code.NONE, -1)


def test_a_group_without_members_changes_its_protocol_and_keeps_its_offsets(new_topic, member, raw, group):
    """GRP-04: in both directions."""
    one = member("one", topic := new_topic(1))
    assert _commit(raw, group, topic, "", -1) == Code.NONE

    settle(one)
    assert _listed(raw, group) == [("consumer", "Stable", "consumer")]
    one.beat(member_epoch=-1)
    assert Member(raw, group).join()["error_code"] == Code.NONE
    # A real Kafka lists the consumer group until its log has the tombstones.
    until(lambda: _listed(raw, group) == [("classic", "CompletingRebalance", "consumer")])
    assert _fetch(raw, group, topic, None, -1) == (Code.NONE, 7)


def test_an_administrator_removes_static_members(new_topic, member, raw, group):
    """GRP-04, KIP-345: LeaveGroup by group.instance.id, as for classic groups."""
    one, other = member("one", topic := new_topic(1), instance_id="i"), member("other", topic)
    settle(one, other)

    leavers = [Fields(member_id=name, group_instance_id=instance) for name, instance in (("", "i"), ("", "j"))]
    answer = raw.ask(LEAVE, 4, group_id=group, members=leavers)

    assert [each["error_code"] for each in answer["members"]] == [Code.NONE, Code.UNKNOWN_MEMBER_ID]
    assert settle(other) == {"other": {topic: (0,)}}


# --- requests


def _listed(raw, group, **filters):
    answer = raw.ask(LIST, 5, **{"states_filter": (), "types_filter": (), **filters})
    return [
        (each["group_type"], each["group_state"], each["protocol_type"])
        for each in answer["groups"]
        if each["group_id"] == group
    ]


def _commit(raw, group, topic, member_id, epoch, version=9):
    who = {"group_id": group, "member_id": member_id, "generation_id_or_member_epoch": epoch}
    answer = raw.ask(COMMIT, version, **who, group_instance_id=None, topics=offsets(topic, p0=7))
    return code_of(answer)


def _fetch(raw, group, topic, member_id, epoch):
    wanted = Fields(
        group_id=group,
        member_id=member_id,
        member_epoch=epoch,
        topics=[Fields(name=topic, partition_indexes=[0])],
    )
    [found] = raw.ask(FETCH, 9, groups=[wanted], require_stable=True)["groups"]
    offsets = [each["committed_offset"] for topic in found["topics"] for each in topic["partitions"]]
    return found["error_code"], offsets[0] if offsets else None


def _delete(raw, group):
    return raw.ask(DELETE, 2, groups_names=[group])["results"][0]["error_code"]
