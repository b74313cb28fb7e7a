"""Groups as time passes or members come: sessions and rebalances end, offsets are forgotten, places are taken."""

from __future__ import annotations

import pytest

from broker.groups.coordinator_harness import REBALANCE_MS, SESSION_MS, TOPIC, Bench, Client
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.transaction_result import TransactionResult

WEEK_MS = 604_800_000


@pytest.fixture
def bench():
    return Bench()


def stable(bench, *clients):
    """Clients in one generation, each with its name as its work."""
    for client in clients:
        bench.join(client)
    for client in clients[:-1]:
        bench.join(client)
    for client in clients:
        bench.joined(client)
        bench.sync(client, {each.member_id: each.name.encode() for each in clients})
    assert bench.state() == "Stable"
    return clients


def test_a_member_without_heartbeats_is_removed(bench):
    """GRP-02: the others share its work."""
    a, b = stable(bench, Client("a"), Client("b"))
    bench.pass_time(SESSION_MS - 1)
    assert bench.heartbeat(a) is Code.NONE

    bench.pass_time(1)

    assert bench.heartbeat(a) is Code.REBALANCE_IN_PROGRESS
    assert bench.heartbeat(b) is Code.UNKNOWN_MEMBER_ID
    assert bench.join(a)["members"] == [{"member_id": a.member_id, "group_instance_id": None, "metadata": b"a"}]


def test_an_offset_commit_counts_as_a_heartbeat(bench):
    """GRP-02."""
    (a,) = stable(bench, Client("a"))
    bench.pass_time(SESSION_MS - 1)
    assert bench.commit(5, a) is Code.NONE

    bench.pass_time(SESSION_MS - 1)

    assert bench.heartbeat(a) is Code.NONE


def test_an_unused_member_id_expires(bench):
    """KIP-394: it would hold up every rebalance."""
    (a,) = stable(bench, Client("a"))
    assert bench.ask_to_join(Client("ghost"))["error_code"] is Code.MEMBER_ID_REQUIRED
    assert bench.join(a) is None  # the leader's rebalance waits for the ghost

    for _ in range(2):
        bench.pass_time(SESSION_MS // 2)

    assert bench.joined(a)["error_code"] is Code.NONE


def test_a_member_waiting_in_a_join_needs_no_heartbeat(bench):
    """GRP-02: its connection is busy with the request that waits."""
    a, b, c = stable(bench, Client("a"), Client("b"), Client("c"))
    bench.join(a)
    for _ in range(3):
        bench.pass_time(SESSION_MS - 1)
        assert bench.heartbeat(b) is bench.heartbeat(c) is Code.REBALANCE_IN_PROGRESS
        assert bench.joined(a) is None

    bench.pass_time(REBALANCE_MS - 3 * (SESSION_MS - 1))

    assert bench.joined(a)["leader"] == a.member_id
    assert bench.heartbeat(b) is Code.UNKNOWN_MEMBER_ID


def test_a_member_that_never_syncs_is_removed(bench):
    """KIP-735: after the rebalance timeout, although it is heard."""
    a, b = Client("a"), Client("b")
    bench.join(a)
    bench.join(b)
    bench.join(a)
    bench.joined(b)
    assert bench.sync(a, {a.member_id: b"all"})["assignment"] == b"all"
    for _ in range(REBALANCE_MS // (SESSION_MS // 2)):
        bench.heartbeat(a)
        bench.heartbeat(b)
        bench.pass_time(SESSION_MS // 2)

    assert bench.heartbeat(b) is Code.UNKNOWN_MEMBER_ID
    assert bench.heartbeat(a) is Code.REBALANCE_IN_PROGRESS


def test_static_members_that_are_silent_keep_their_place_until_their_session_ends(bench):
    """KIP-345: a rebalance does not wait for ever, nor throw them out."""
    a, b = stable(bench, Client("a", "a"), Client("b", "b"))
    bench.leave(a)
    bench.join(a, member_id="")
    bench.pass_time(SESSION_MS - 1)
    assert bench.heartbeat(b) is Code.REBALANCE_IN_PROGRESS
    bench.pass_time(REBALANCE_MS)

    answer = bench.joined(a)

    assert (answer["error_code"], answer["leader"]) == (Code.NONE, a.member_id)


def test_a_new_group_may_wait_for_more_members(bench):
    """group.initial.rebalance.delay.ms: as long as members keep coming, up to the rebalance timeout."""
    bench = Bench(initial_rebalance_delay_ms=3_000)
    a, b, c = Client("a"), Client("b"), Client("c")
    assert bench.join(a) is None
    bench.pass_time(2_000)
    assert bench.join(b) is None
    bench.pass_time(1_000)
    assert bench.joined(a) is None  # b came, so there is more time
    assert bench.join(c) is None
    bench.pass_time(3_000)
    assert bench.joined(a) is None
    bench.pass_time(3_000)

    assert {bench.joined(each)["generation_id"] for each in (a, b, c)} == {1}


def test_unused_offsets_are_forgotten_with_their_group(bench):
    """offsets.retention.minutes counts from when the group became empty."""
    (a,) = stable(bench, Client("a"))
    bench.commit(5, a)
    bench.now_ms += 2 * WEEK_MS
    bench.coordinator.expire_offsets(bench.now_ms)
    assert bench.offset() == 5  # its member lives, and may have subscribed to anything
    bench.commit(6, a)
    bench.leave(a)

    bench.now_ms += WEEK_MS - 1
    bench.coordinator.expire_offsets(bench.now_ms)
    assert bench.offset() == 6
    bench.now_ms += 1
    bench.coordinator.expire_offsets(bench.now_ms)

    assert (bench.offset(), bench.state()) == (-1, "Dead")
    assert (bench.restarted().offset(), bench.restarted().state()) == (-1, "Dead")


def test_offsets_that_an_open_transaction_may_change_are_kept(bench):
    """GRP-01."""
    bench.commit(5)
    bench.commit_in(77, 6)
    bench.now_ms += 2 * WEEK_MS
    bench.coordinator.expire_offsets(bench.now_ms)
    bench.end(77, TransactionResult.COMMIT)

    assert bench.offset() == 6


def test_offsets_of_a_subscribed_topic_are_never_forgotten(bench):
    a = Client("a")
    a.protocols = (("range", b"\x00\x01\x00\x00\x00\x01\x00\x07flights\xff\xff\xff\xff"),)
    stable(bench, a)
    other = TopicPartition("trains", 0)
    bench.commit(5, a)
    bench.commit(5, a, where=other)

    bench.now_ms += 2 * WEEK_MS
    bench.coordinator.expire_offsets(bench.now_ms)

    assert (bench.offset(), bench.offset(where=other)) == (5, -1)
    deleted = bench.coordinator.offsets.delete("g", [TOPIC, other], bench.now_ms)
    assert deleted == {TOPIC: Code.GROUP_SUBSCRIBED_TO_TOPIC, other: Code.NONE}


def test_a_group_change_that_cannot_be_logged_has_no_effect(bench):
    """A restart would lose it: all join again, and get their work once it can be logged."""
    a = Client("a")
    bench.join(a)
    bench.log.broken = True
    assert bench.sync(a, {a.member_id: b"all"})["error_code"] is Code.COORDINATOR_NOT_AVAILABLE
    assert bench.commit(5, a) is Code.REBALANCE_IN_PROGRESS or bench.offset() == -1
    assert bench.ask_to_join(a, "other", member_id="")["error_code"] is Code.COORDINATOR_NOT_AVAILABLE
    bench.log.broken = False

    bench.join(a)

    assert bench.sync(a, {a.member_id: b"all"})["assignment"] == b"all"


# --- `group.max.size` (KIP-389)


def test_a_full_stable_group_refuses_new_members_and_keeps_its_own():
    """GRP-02."""
    bench, one, late = Bench(max_size=1), Client("one"), Client("late")
    stable(bench, one)

    assert bench.join(late)["error_code"] is Code.GROUP_MAX_SIZE_REACHED

    assert bench.state() == "Stable"
    assert bench.heartbeat(one) is Code.NONE


def test_only_rejoined_members_count_towards_group_size_during_a_rebalance():
    """GRP-02, KAFKA-7862: who was in before and does not return leaves its place to another."""
    bench, one, two, three = Bench(max_size=2), Client("one"), Client("two"), Client("three")
    stable(bench, one, two)

    one.protocols = (*one.protocols, ("other", b""))
    assert bench.join(one) is None
    assert bench.state() == "PreparingRebalance"
    assert bench.join(three) is None

    assert bench.join(Client("fourth"))["error_code"] is Code.GROUP_MAX_SIZE_REACHED
    assert bench.join(two)["error_code"] is Code.GROUP_MAX_SIZE_REACHED
