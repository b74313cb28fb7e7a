"""A group takes no more members than `group.max.size` (KIP-389)."""

from __future__ import annotations

from eosfw_memory.common.codes import Code

from .coordinator_harness import Bench, Client


def test_a_full_stable_group_refuses_new_members_and_keeps_its_own():
    """GRP-02."""
    bench, one, late = Bench(max_size=1), Client("one"), Client("late")
    bench.join(one)
    bench.sync(one, {one.member_id: b""})
    assert bench.state() == "Stable"

    assert bench.join(late)["error_code"] is Code.GROUP_MAX_SIZE_REACHED

    assert bench.state() == "Stable"
    assert bench.heartbeat(one) is Code.NONE


def test_only_rejoined_members_count_towards_group_size_during_a_rebalance():
    """GRP-02, KAFKA-7862: who was in before and does not return leaves its place to another."""
    bench, one, two, three = Bench(max_size=2), Client("one"), Client("two"), Client("three")
    bench.join(one)
    bench.sync(one, {one.member_id: b""})
    bench.join(two)
    bench.join(one)
    bench.joined(two)
    work = {one.member_id: b"", two.member_id: b""}
    bench.sync(one, work)
    bench.sync(two, work)
    assert bench.state() == "Stable"

    one.protocols = (*one.protocols, ("other", b""))
    assert bench.join(one) is None
    assert bench.state() == "PreparingRebalance"
    assert bench.join(three) is None

    assert bench.join(Client("fourth"))["error_code"] is Code.GROUP_MAX_SIZE_REACHED
    assert bench.join(two)["error_code"] is Code.GROUP_MAX_SIZE_REACHED
