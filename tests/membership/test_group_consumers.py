"""Members of every backend keep the contract: by direct calls, over a socket, on a real Kafka, and in one group."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw_confluent.backend import ConfluentBackend
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from pytest_eos.contracts import MembershipContract
from pytest_eos.contracts.backends.group_member import GroupMember
from pytest_eos.contracts.backends.harness import BackendHarness

SESSION_TIMEOUTS = {"quick": 1.5, "real_kafka": 6.0}
"""Seconds that each cluster allows."""


@pytest.fixture(scope="session")
def quick():
    """An embedded cluster that allows short sessions."""
    cluster = EmbeddedCluster.start({"group.min.session.timeout.ms": "500"}, ThreadRuntime())
    yield cluster.bootstrap_servers
    cluster.close()


@pytest.fixture(params=["quick", pytest.param("real_kafka", marks=pytest.mark.kafka)])
def servers(request):
    return request.getfixturevalue(request.param)


class Membership(MembershipContract):
    @pytest.fixture
    def session_timeout(self, request):
        return SESSION_TIMEOUTS[request.node.callspec.params["servers"]]

    @pytest.fixture
    def connection(self, servers):
        return {"bootstrap.servers": servers}

    @pytest.fixture
    def backend(self, connection):
        backend = self.kind.connect(connection, ThreadRuntime())
        yield backend
        backend.close()


class TestMemory(Membership):
    kind = MemoryBackend


class TestConfluent(Membership):
    kind = ConfluentBackend


class TestKafkaPython(Membership):
    kind = KafkaPythonBackend


KINDS = (MemoryBackend, ConfluentBackend, KafkaPythonBackend)


class Mixed:
    """A group whose members are of different makes, named by their backends."""

    def __init__(self, servers, partitions):
        self.backends = {kind.name: kind.connect({"bootstrap.servers": servers}, ThreadRuntime()) for kind in KINDS}
        self.lab = BackendHarness(self.backends["memory"], ThreadRuntime())
        self.group_id, self.topic = self.lab.group(), self.lab.topic(partitions)
        self.everything = {TopicPartition(self.topic, number) for number in range(partitions)}
        self.members = {}

    def join(self, name):
        def make():
            return self.backends[name].group_consumer(
                self.group_id,
                self.topic,
                client_id=name,
                session_timeout=20.0,
                rebalance_timeout=20.0,
                properties={"heartbeat.interval.ms": "100"},
            )

        self.members[name] = GroupMember(self.lab.runtime, make, name)

    def shares(self):
        return {name: member.assignment.partitions for name, member in self.members.items()}

    def settled(self, size):
        """What each member owns, once so many members own everything and the coordinator confirms all of them."""

        def described():
            found = self.lab.admin.describe_group(self.group_id)
            return {one.client_id: one.partitions for one in found.members} if found.state == "Stable" else {}

        def is_settled(found):
            owned = [one for own in found.values() for one in own]
            return len(found) == size and sorted(owned) == sorted(self.everything) and self.shares() == found

        return self.lab.until(described, is_settled)

    def close(self):
        for member in self.members.values():
            member.close()
        for backend in self.backends.values():
            backend.close()


@pytest.fixture
def mixed(servers):
    made = []

    def make(partitions):
        made.append(Mixed(servers, partitions))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("first", range(len(KINDS)), ids=[kind.name for kind in KINDS])
def test_members_of_three_makes_share_a_group(mixed, first):
    """KIP-429: whichever is elected to assign, its owner stays the owner, and hands over when it leaves."""
    group = mixed(partitions=1)
    names = [kind.name for kind in (*KINDS[first:], *KINDS[:first])]
    for size, name in enumerate(names, 1):
        group.join(name)
        shares = group.settled(size)
        assert shares[names[0]] == group.everything
    for member in group.members.values():
        member.confirm()

    group.members.pop(names[0]).close()

    group.settled(2)


@pytest.mark.parametrize("first", range(len(KINDS)), ids=[kind.name for kind in KINDS])
def test_partitions_move_between_makes_until_shares_are_even(mixed, first):
    """KIP-429: what one make gives up another one gets in the next generation."""
    group = mixed(partitions=6)
    names = [kind.name for kind in (*KINDS[first:], *KINDS[:first])]
    for size, name in enumerate(names, 1):
        group.join(name)
        group.settled(size)

    group.lab.until(lambda: group.settled(3), lambda shares: {len(own) for own in shares.values()} == {2})
