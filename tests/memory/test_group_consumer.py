"""The memory client as a member of a group, in virtual time: any order of threads, any pause, no waiting."""

from __future__ import annotations

import pytest

from eosfw.errors import ClusterUnavailableError, CommitFailedError, RetriableError
from eosfw.ids import TopicPartition
from eosfw.protocols import NewTopic
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.transport.errors import unavailable
from pytest_eos.environment.clusters.cluster import virtual

GROUP, TOPIC = "workers", "workers-members"
ONE = TopicPartition(TOPIC, 0)
SESSION, REBALANCE = 10.0, 60.0
SEEDS = range(1, 41)


class Group:
    """A cluster in virtual time with a topic of some partitions; members are made by their client ids."""

    def __init__(self, cluster, partitions=1):
        self.cluster, self.clock = cluster, cluster.runtime
        self.backend = MemoryBackend.connect(cluster.client, self.clock)
        self.admin = self.backend.admin()
        self.admin.create_topics([NewTopic(TOPIC, partitions)])

    def member(self, name="one", topic=TOPIC):
        return self.backend.group_consumer(
            GROUP, topic, client_id=name, session_timeout=SESSION, rebalance_timeout=REBALANCE
        )

    def settle(self, *members):
        """Poll until every member is stable in the newest generation; return what each owns."""
        for _ in range(1_000):
            found = [one.poll(0.1) for one in members]
            described = self.admin.describe_group(GROUP)
            if described.state == "Stable" and not any(each.rebalancing for each in found):
                return [each.partitions for each in found]
        raise AssertionError(f"it does not come to rest: {found}")


@pytest.fixture
def group():
    with virtual(None) as cluster:
        yield Group(cluster)


@pytest.fixture
def groups():
    made = []

    def make(seed, partitions=1):
        context = virtual(seed)
        made.append(context)
        return Group(context.__enter__(), partitions)

    yield make
    for context in made:
        context.__exit__(None, None, None)


def owned(*shares):
    return [frozenset({ONE}) if one else frozenset() for one in shares]


def test_a_member_that_polls_every_third_of_its_session_stays(group):
    """The contract of `poll`, for hours; the generation does not change either."""
    one = group.member()
    group.settle(one)
    first = one.poll(0)

    for _ in range(1_000):
        group.clock.sleep(SESSION / 3)
        assert one.poll(0) == first
        one.confirm(1.0)


def test_a_poll_without_timeout_takes_no_time(group):
    """So a thread with other work can poll between two pieces of it."""
    one, two = group.member("one"), group.member("two")
    group.settle(one)
    began = group.clock.now()

    for _ in range(50):
        one.poll(0)
    two.poll(0)

    assert group.clock.now() - began < 0.01


def test_a_revoked_partition_is_reported_before_it_is_handed_over(groups):
    """KIP-429: between the poll that revokes and the next one, nobody else owns it."""
    group = groups(None, partitions=2)
    one, two = group.member("one"), group.member("two")
    assert [len(each) for each in group.settle(one)] == [2]
    while len(one.poll(0.1).partitions) == 2:
        two.poll(0.1)

    for _ in range(20):
        assert two.poll(0.1).partitions == frozenset()

    assert [len(each) for each in group.settle(one, two)] == [1, 1]


def test_membership_survives_a_restart_of_the_broker(group):
    """COR-14: generation, member and owner are in the log; nobody is asked to join again."""
    one, two = group.member("one"), group.member("two")
    group.settle(one, two)
    before = one.poll(0)

    group.cluster.local.broker.restart(down=2.0)
    with pytest.raises(RetriableError):
        one.confirm(0.5)
    assert group.settle(one, two) == owned(1, 0)
    one.confirm(5.0)

    assert one.poll(0).member_id == before.member_id


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_members_are_confirmed_as_owners_of_one_generation(groups, seed):
    """Members come, sleep beyond their session, wake and leave in any order: each generation has one owner."""
    group = groups(seed)
    confirmed: dict[int, set[str]] = {}

    def live(name, naps):
        member = group.member(name)
        for nap in naps:
            for _ in range(8):
                found = member.poll(0.4)
                try:
                    member.confirm(1.0)
                except (CommitFailedError, RetriableError):
                    continue
                if ONE in found.partitions:
                    confirmed.setdefault(found.generation, set()).add(found.member_id)
            group.clock.sleep(nap)
        member.close()

    lives = {"a": (1.0, 15.0, 0.1), "b": (20.0, 1.0, 1.0), "c": (0.1, 0.1, 30.0), "d": (9.0, 11.0, 1.0)}
    spawned = [group.clock.spawn(name, lambda name=name, naps=naps: live(name, naps)) for name, naps in lives.items()]
    assert all(one.join(3600.0) for one in spawned)

    assert confirmed
    assert all(len(owners) == 1 for owners in confirmed.values())


def test_an_error_asks_once_whether_the_cluster_is_running():
    absent = ClusterUnavailableError("no answer; is the cluster running?")
    assert str(unavailable("OffsetCommit", absent)) == "OffsetCommit: no answer; is the cluster running?"
