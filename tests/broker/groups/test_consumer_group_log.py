"""Consumer groups outlast their broker: on disk, after compaction, from a snapshot."""

from __future__ import annotations

import pytest

from broker.groups.consumer_group_harness import GROUP, ModernBench, shown
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.coordinator_snapshot import decode, encode
from eosfw_memory.server.coordinators.groups.coordinator import GroupCoordinator
from eosfw_memory.server.coordinators.groups.group_records import group_key
from eosfw_memory.server.coordinators.groups.migration_policy import MigrationPolicy
from eosfw_memory.server.coordinators.groups.modern.heartbeat import HeartbeatRequest
from eosfw_memory.server.coordinators.groups.modern.member import MemberState
from eosfw_memory.server.coordinators.groups.offsets_topic import OffsetsTopic
from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.topics.topic import GROUP_LOG

from ..brokers import started
from .coordinator_harness import joining

SMALL = {"cleanup.policy": "compact", "segment.bytes": "400", "min.cleanable.dirty.ratio": "0"}
A_DAY_MS = 86_400_000


@pytest.fixture
def broker(tmp_path):
    """A broker with a group of three members on disk: one left, one has to give up partitions, one waits for them."""
    made = started(tmp_path, {"offsets.topic.num.partitions": "1"}, t=4, u=1)
    made.topics.create(GROUP_LOG, 1, SMALL)
    first = beat(made, "first", 0)
    beat(made, "gone", 0)
    beat(made, "second", 0, topic_regex="[tu]", instance_id="i")
    beat(made, "gone", -1)
    beat(made, "second", 3)
    beat(made, "first", first["member_epoch"])
    states = {name: each.current.state for name, each in made.groups.group(GROUP).members.items()}
    assert states == {"first": MemberState.UNREVOKED_PARTITIONS, "second": MemberState.UNRELEASED_PARTITIONS}
    return made


def beat(broker, member_id, epoch, **more):
    says = {"rebalance_timeout_ms": 1_000, "topic_names": frozenset({"t"}), "owned": {}} if epoch >= 0 else {}
    if epoch > 0:
        says["owned"] = None
    request = HeartbeatRequest(**{"member_id": member_id, "member_epoch": epoch, **says, **more})
    return broker.groups.consumer_groups.heartbeat(GROUP, request, broker.now_ms())


def test_a_group_is_the_same_after_a_restart_on_disk(broker, tmp_path):
    """GRP-05: with a member that has to give up partitions; a stop leaves a snapshot of it."""
    before = shown(broker.groups.group(GROUP))

    broker.close()
    again = started(tmp_path, {"offsets.topic.num.partitions": "1"})

    assert shown(again.groups.group(GROUP)) == before
    assert beat(again, "second", 4, instance_id="i")["error_code"] is Code.NONE
    again.close()


def test_a_group_is_the_same_after_compaction(broker):
    """GRP-05: of each member the last records are left; the tombstones of one that left may be gone."""
    before = shown(broker.groups.group(GROUP))
    log = broker.topics.partition(GROUP_LOG, 0).log

    for days in (0, 2, 2):
        compact(log, broker.now_ms() + days * A_DAY_MS)
        broker.groups.store.load(broker.now_ms())
        assert shown(broker.groups.group(GROUP)) == before
    broker.close()


def test_a_snapshot_gives_the_same_as_a_replay(broker):
    """GRP-05."""
    kept = decode(encode((), broker.groups.store.snapshot()))
    again = GroupCoordinator(OffsetsTopic(broker.group_log, kept.groups), broker.settings.groups)

    again.store.load(broker.now_ms())

    assert shown(again.group(GROUP)) == shown(broker.groups.group(GROUP))
    broker.close()


def test_a_deleted_group_stays_deleted(broker):
    """GRP-05: all of its records are."""
    for name in ("first", "second"):
        beat(broker, name, -1)
    assert broker.groups.delete(GROUP, broker.now_ms()) is Code.NONE

    broker.groups.store.load(broker.now_ms())

    assert broker.groups.group(GROUP) is None
    assert list(broker.groups.store.snapshot()) == []
    broker.close()


@pytest.mark.parametrize("last", ["classic", "consumer"])
def test_a_group_that_changed_its_protocol_has_that_protocol_after_a_restart(last):
    """GRP-05: the records of the other protocol are forgotten with the same batch."""
    bench = ModernBench()
    one = bench.client("one", "t")
    join_classic(bench)
    assert one.beat() is Code.NONE
    one.leave()
    if last == "classic":
        join_classic(bench)

    again = bench.restarted()

    gone = [each.key for each in bench.log.events if each.value is None]
    assert gone.count(group_key(GROUP)) == 1
    for each in (bench, again):
        assert each.coordinator.group(GROUP).group_type == last
    assert list(again.coordinator.store.snapshot()) == list(bench.coordinator.store.snapshot())


def join_classic(bench):
    """Ask for a member id, which creates a classic group without members."""
    answer = bench.coordinator.members.join(GROUP, joining(), bench.now_ms)
    assert answer["error_code"] is Code.MEMBER_ID_REQUIRED


@pytest.mark.parametrize("policy", MigrationPolicy)
def test_a_group_that_changed_its_protocol_with_members_is_the_same_after_a_restart(policy):
    """GRP-04, GRP-05: upgraded, and downgraded, where `group.consumer.migration.policy` lets it; never lost."""
    bench = ModernBench(consumer_migration_policy=policy)
    bench.create("t", 2)
    classic = bench.classic_client("classic", "t")
    classic.join()
    one = bench.client("one", "t")

    upgraded = one.beat()
    assert upgraded is (Code.NONE if policy.upgrades else Code.GROUP_ID_NOT_FOUND)
    seen = [bench.same_after_restart()]
    if not policy.upgrades:  # it begins as a consumer group, which classic members may always join
        classic.leave()
        bench.settle(one)
    other = bench.client("other", "t")
    bench.settle(one, other, classic)
    assert other.leave() is Code.NONE
    bench.settle(one, classic)
    seen.append(bench.same_after_restart())
    assert one.leave() is Code.NONE
    seen.append(bench.same_after_restart())

    first, last = ("consumer" if policy.upgrades else "classic"), ("classic" if policy.downgrades else "consumer")
    assert seen == [first, "consumer", last]
    if policy.downgrades:
        assert classic.beat() is Code.REBALANCE_IN_PROGRESS
    bench.settle(classic)
    assert classic.partitions == every_partition(bench)


def every_partition(bench):
    return {(bench.topics.by_name("t").topic_id, number) for number in range(2)}
