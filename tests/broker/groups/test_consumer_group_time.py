"""Members of consumer groups are removed when they are silent or slow, and offsets when they are unused."""

from __future__ import annotations

import pytest

from broker.groups.consumer_group_harness import GROUP, REBALANCE_MS, SESSION_MS, ModernBench
from broker.groups.coordinator_harness import SESSION_MS as CLASSIC_SESSION_MS
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter

WEEK_MS = 604_800_000
STEP_MS = 5_000


@pytest.fixture
def bench():
    made = ModernBench()
    made.create("t", 2)
    return made


def members(bench):
    return set(bench.group.members)


def test_a_member_that_is_silent_for_the_session_timeout_is_removed(bench):
    """GRP-04: `group.consumer.session.timeout.ms`; the others get its partitions."""
    one, other = bench.client("one", "t"), bench.client("other", "t")
    bench.settle(one, other)

    bench.pass_time(SESSION_MS - 1)
    one.beat()
    assert members(bench) == {"one", "other"}
    bench.pass_time(1)

    assert members(bench) == {"one"}
    assert other.beat() is Code.UNKNOWN_MEMBER_ID
    bench.settle(one)
    assert len(one.partitions) == 2


def test_a_member_that_gives_nothing_up_for_the_rebalance_timeout_is_removed(bench):
    """GRP-04: its heartbeats do not help; the timeout is its own."""
    one, other = bench.client("one", "t"), bench.client("other", "t")
    bench.settle(one)
    other.beat()
    one.beat()

    for _ in range(REBALANCE_MS // 20_000):
        assert members(bench) == {"one", "other"}
        bench.pass_time(20_000)
        one.beat()
        other.beat()

    assert members(bench) == {"other"}
    bench.settle(other)
    assert len(other.partitions) == 2


def test_a_static_member_that_left_for_a_while_stays_for_the_session_timeout(bench):
    """GRP-04, KIP-345."""
    one, other = bench.client("one", "t", instance="i"), bench.client("other", "t")
    bench.settle(one, other)

    one.leave_for_a_while()
    bench.pass_time(SESSION_MS - 1)
    other.beat()
    assert members(bench) == {"one", "other"}
    bench.pass_time(1)

    assert members(bench) == {"other"}


def test_a_static_member_that_left_for_a_while_is_not_removed_for_what_it_had_to_give_up(bench):
    """GRP-04: its rebalance timeout, shorter than the session, ended with its departure."""
    one, other = bench.client("one", "t", instance="i"), bench.client("other", "t")
    one.beat(rebalance_timeout_ms=1_000)
    other.beat()
    one.beat(rebalance_timeout_ms=1_000)

    one.leave_for_a_while()
    bench.pass_time(500)
    bench.pass_time(2_000)

    assert members(bench) == {"one", "other"}


def test_members_have_a_session_timeout_after_a_restart(bench):
    """GRP-05: the coordinator was silent, not they."""
    one = bench.client("one", "t")
    bench.settle(one)
    bench.now_ms += 10 * SESSION_MS
    again = bench.restarted()

    again.pass_time(0)
    again.pass_time(SESSION_MS - 1)
    assert members(again) == {"one"}
    again.pass_time(1)

    assert members(again) == set()


def test_no_deadline_is_later_than_a_timeout_from_now_when_the_clock_goes_back(bench):
    """GRP-04."""
    one = bench.client("one", "t")
    bench.settle(one)
    bench.now_ms -= 10 * SESSION_MS
    bench.coordinator.on_clock_moved_back(bench.now_ms)

    bench.pass_time(SESSION_MS)

    assert members(bench) == set()


def test_a_group_takes_no_more_members_than_it_may_have():
    """GRP-04: `group.consumer.max.size`; who is a member already stays."""
    bench = ModernBench(consumer_max_size=1)
    one = bench.client("one", "t")

    assert one.beat() is Code.NONE
    assert bench.client("other", "t").beat() is Code.GROUP_MAX_SIZE_REACHED
    assert one.beat() is Code.NONE


def test_offsets_of_topics_without_subscribers_expire_then_the_group_without_members(bench):
    """GRP-04: by the time of their commit, as in Kafka's consumer groups."""
    bench.create("u", 1)
    one = bench.client("one", "t")
    bench.settle(one)
    who = OffsetCommitter("one", None, one.epoch)
    offsets = {TopicPartition(topic, 0): Committed(7, -1, "", bench.now_ms) for topic in ("t", "u")}
    bench.coordinator.offsets.commit(GROUP, who, offsets, bench.now_ms)

    bench.now_ms += WEEK_MS
    bench.coordinator.expire_offsets(bench.now_ms)
    assert kept(bench) == {"t"}
    one.leave()
    bench.coordinator.expire_offsets(bench.now_ms)

    assert kept(bench) == set()
    assert bench.group is None
    assert bench.restarted().group is None


def test_offsets_of_subscribed_topics_are_not_deleted(bench):
    """GRP-04: others are, while the group has members."""
    bench.create("u", 1)
    bench.settle(bench.client("one", "t"))

    deleted = bench.coordinator.offsets.delete(GROUP, [TopicPartition("t", 0), TopicPartition("u", 0)], bench.now_ms)

    assert list(deleted.values()) == [Code.GROUP_SUBSCRIBED_TO_TOPIC, Code.NONE]


def kept(bench):
    return {where.topic for where in bench.coordinator.offsets.fetch(GROUP, None, stable=True)}


def test_a_heartbeat_that_cannot_be_logged_changes_nothing(bench):
    """GRP-05: no answer tells of what a restart would not know."""
    one, other = bench.client("one", "t"), bench.client("other", "t")
    bench.settle(one)
    before = bench.group.copy()
    bench.log.broken = True

    assert other.beat() is Code.COORDINATOR_NOT_AVAILABLE
    assert one.leave() is Code.COORDINATOR_NOT_AVAILABLE
    bench.pass_time(SESSION_MS)
    with pytest.raises(KafkaError):
        bench.coordinator.consumer_groups.leave(GROUP, [("one", None)], bench.now_ms)
    assert (bench.group.epoch, bench.group.members) == (before.epoch, before.members)

    bench.log.broken = False
    bench.pass_time(1)
    assert members(bench) == set()


def test_a_group_may_have_a_session_timeout_of_its_own(bench):
    """GRP-04: also for members of before a restart, which have sent nothing yet."""
    bench.client("one", "t").beat()
    again = bench.restarted()

    for each in (bench, again):
        each.coordinator.configs.give(GROUP, {"consumer.session.timeout.ms": "1000"})
    bench.client("one", "t").beat(member_epoch=1)
    again.pass_time(0)
    for each in (bench, again):
        each.pass_time(999)
        assert members(each) == {"one"}
        each.pass_time(1)
        assert members(each) == set()


@pytest.mark.parametrize(
    ("goes_on", "within_ms"),
    [("nothing", CLASSIC_SESSION_MS), ("heartbeats", REBALANCE_MS), ("joins", REBALANCE_MS)],
)
def test_a_classic_member_that_does_not_go_on_is_removed(goes_on, within_ms):
    """GRP-04: when its own session is over, when it was told to join again and does not, or never asks what it has."""
    bench = ModernBench()
    bench.create("t", 2)
    classic, one = bench.classic_client("classic", "t"), bench.client("one", "t")
    bench.settle(one, classic)
    classic.give_up()
    if goes_on != "joins":
        one.topics = frozenset({"t", "u"})
        assert one.beat() is Code.NONE  # another epoch, for which the classic member must join
    steps = {"nothing": lambda: None, "heartbeats": classic.only_heartbeat, "joins": classic.only_join}
    steps[goes_on]()

    for passed in range(STEP_MS, within_ms + 1, STEP_MS):
        assert len(members(bench)) == 2
        bench.pass_time(STEP_MS)
        if passed < within_ms:
            one.beat()
            if goes_on != "nothing":
                classic.only_heartbeat()

    assert members(bench) == {"one"}


def test_a_classic_member_that_joins_and_syncs_when_asked_stays():
    """GRP-04: no timeout of a rebalance is left behind."""
    bench = ModernBench()
    bench.create("t", 2)
    classic, one = bench.classic_client("classic", "t"), bench.client("one", "t")
    bench.settle(one, classic)
    before = members(bench)

    for _ in range(2 * REBALANCE_MS // STEP_MS):
        bench.pass_time(STEP_MS)
        bench.settle(one, classic, rounds=1)

    assert members(bench) == before == {"one", classic.member_id}
