"""What a member of a group hears when its coordinator refuses it, is silent, or serves a group of another kind."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import (
    ClusterUnavailableError,
    CommitFailedError,
    EosfwError,
    GroupAuthorizationError,
    InconsistentGroupProtocolError,
    RebalanceInProgressError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import NewTopic
from eosfw.runtime.group.worker_coordinator import GroupTimeouts, WorkerCoordinator
from eosfw_confluent.backend import ConfluentBackend
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.transport.apis import JOIN_GROUP, SYNC_GROUP, Fields, milliseconds
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults.rules import Drop, Fail

pytestmark = pytest.mark.ci
GROUP, TOPIC, WAIT = "workers", "workers-members", 30.0
OWNED = frozenset({TopicPartition(TOPIC, 0)})
SESSION = 1.5
"""Seconds after which the group forgets a member that a fault made forget itself."""
LONG = 10 * WAIT
REFUSALS = {
    "UNKNOWN_MEMBER_ID": CommitFailedError,
    "ILLEGAL_GENERATION": RebalanceInProgressError,
    "REBALANCE_IN_PROGRESS": RebalanceInProgressError,
    "GROUP_AUTHORIZATION_FAILED": GroupAuthorizationError,
}


@pytest.fixture
def cluster():
    cluster = EmbeddedCluster.start({"group.min.session.timeout.ms": "500"}, ThreadRuntime())
    MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime()).admin().create_topics(
        [NewTopic(TOPIC)]
    )
    yield cluster
    cluster.close()


@pytest.fixture(
    params=[(MemoryBackend, "direct"), (MemoryBackend, "socket"), (ConfluentBackend, None), (KafkaPythonBackend, None)],
    ids=lambda param: f"{param[0].name} {param[1] or ''}".strip(),
)
def backend(request, cluster):
    kind, transport = request.param
    how = {} if transport is None else {"eosfw.transport": transport}
    backend = kind.connect({"bootstrap.servers": cluster.bootstrap_servers, **how}, ThreadRuntime())
    yield backend
    backend.close()


@pytest.fixture
def make_member(backend):
    """Make the member once the faults are there: a client library may begin to join when it is made."""
    made = []

    def make():
        made.append(
            backend.group_consumer(
                GROUP,
                TOPIC,
                client_id="member",
                session_timeout=SESSION,
                rebalance_timeout=SESSION,
                properties={"heartbeat.interval.ms": "100"},
            )
        )
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def poll_until(member, there):
    """Poll until the assignment is as wanted."""
    deadline = ThreadRuntime().now() + WAIT
    while not there(found := member.poll(0.2)):
        assert ThreadRuntime().now() < deadline, found
    return found


def owner(member):
    return poll_until(member, lambda found: found.partitions == OWNED and not found.rebalancing)


def confirm_in_the_end(member):
    """Confirm as soon as the member has joined the generation that follows."""
    deadline = ThreadRuntime().now() + WAIT
    while True:
        try:
            member.confirm(WAIT)
        except (CommitFailedError, RebalanceInProgressError):
            assert ThreadRuntime().now() < deadline
            member.poll(0.1)
        else:
            return


def refusal(member, fault, timeout=WAIT):
    """What a commit raises that meets the fault; a busy machine may lose the member before it has asked."""
    while True:
        owner(member)
        try:
            member.confirm(timeout)
        except EosfwError as why:
            if fault.fired:
                return why


class ConnectWorker:
    """The only worker of a Kafka Connect group, as far as its coordinator can tell."""

    def __init__(self, cluster):
        self._network = DirectNetwork("in process", lambda: cluster.broker, ThreadRuntime(), "connect-1")
        joining = Fields(
            group_id=GROUP,
            session_timeout=milliseconds(LONG),
            rebalance_timeout=milliseconds(LONG),
            member_id="",
            group_instance_id=None,
            protocol_type="connect",
            protocols=[Fields(name="sessioned", metadata=b"")],
            reason=None,
        )
        joining.member_id = self._call(JOIN_GROUP, joining)["member_id"]
        joined = self._call(JOIN_GROUP, joining)
        assignment = Fields(member_id=joining.member_id, assignment=b"what only Kafka Connect reads")
        self._call(
            SYNC_GROUP,
            Fields(
                group_id=GROUP,
                generation_id=joined["generation_id"],
                member_id=joining.member_id,
                group_instance_id=None,
                protocol_type="connect",
                protocol_name="sessioned",
                assignments=[assignment],
            ),
        )

    def _call(self, api, fields):
        return self._network.call(api, fields, ThreadRuntime().now() + WAIT)


def test_a_live_connect_group_is_named_by_its_kind(cluster, backend):
    """Admin: so that a worker can say who holds its group id; what the members own is not ours to read."""
    ConnectWorker(cluster)

    found = backend.admin().describe_group(GROUP)

    assert (found.state, found.protocol_type) == ("Stable", "connect")
    assert [(one.client_id, one.partitions) for one in found.members] == [("connect-1", frozenset())]


def test_a_live_connect_group_keeps_consumers_out(cluster, make_member):
    """INCONSISTENT_GROUP_PROTOCOL: the error says what it is; once the other group is gone the same member joins."""
    ConnectWorker(cluster)
    member = make_member()

    with pytest.raises(InconsistentGroupProtocolError, match=f"group '{GROUP}' .*a group of another kind"):
        member.poll(WAIT)

    cluster.broker.jump(2 * LONG)
    poll_despite(member, InconsistentGroupProtocolError)


def poll_despite(member, kind):
    """Poll until the member owns the partition; a client may still tell of errors of before."""
    deadline = ThreadRuntime().now() + WAIT
    while ThreadRuntime().now() < deadline:
        try:
            if member.poll(0.2).partitions == OWNED:
                return
        except kind:
            ThreadRuntime().sleep(0.05)
    pytest.fail("it never joined")


@pytest.mark.parametrize("request_name", ["FindCoordinator", "JoinGroup"])
def test_a_principal_without_the_group_is_refused(cluster, make_member, request_name):
    """GROUP_AUTHORIZATION_FAILED: once it is allowed in, the same member joins."""
    denied = cluster.faults.add(Fail(request_name, code="GROUP_AUTHORIZATION_FAILED", times=1_000))
    member = make_member()

    with pytest.raises(GroupAuthorizationError, match=GROUP):
        member.poll(WAIT)
    cluster.faults.remove(denied)

    poll_despite(member, GroupAuthorizationError)


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refused_commit_raises_what_it_means(cluster, make_member, code):
    """Not a member any more; or a rebalance, in which nobody can say yet; or no right to ask."""
    member = make_member()

    why = refusal(member, cluster.faults.add(Fail("OffsetCommit", code=code)))

    assert isinstance(why, REFUSALS[code])
    assert GROUP in str(why)
    owner(member)
    confirm_in_the_end(member)


def test_a_member_of_an_outdated_generation_is_not_lost(cluster, backend):
    """The coordinator knows it: a rebalance was over that its client had not heard of. Its tasks go on."""
    losses, runtime = [], ThreadRuntime()
    coordinator = WorkerCoordinator(
        lambda: backend.group_consumer(GROUP, TOPIC, client_id="worker", session_timeout=LONG, rebalance_timeout=LONG),
        TopicPartition(TOPIC, 0),
        GroupTimeouts(LONG, LONG),
        runtime,
        lambda: losses.append(runtime.now()),
    )
    coordinator.join(WAIT)
    try:
        assert coordinator.confirm(WAIT)
        cluster.faults.add(Fail("OffsetCommit", code="ILLEGAL_GENERATION"))

        assert coordinator.confirm(WAIT)

        assert losses == []
        assert coordinator.joined
    finally:
        coordinator.close()


def test_a_silent_coordinator_confirms_nothing(cluster, make_member):
    """The deadline of `confirm` holds, whatever the client library waits for."""
    member = make_member()

    why = refusal(member, cluster.faults.add(Drop("OffsetCommit", silent=True, times=1_000)), 0.5)

    assert isinstance(why, ClusterUnavailableError)
    assert GROUP in str(why)


@pytest.mark.parametrize("request_name", ["FindCoordinator", "JoinGroup", "SyncGroup"])
def test_a_poll_ends_although_the_coordinator_is_silent(cluster, make_member, request_name):
    """The deadline of `poll` holds: it says that the member has not joined."""
    dropped = cluster.faults.add(Drop(request_name, silent=True, times=1_000))
    member = make_member()

    found = member.poll(0.5)
    while not dropped.fired:
        found = member.poll(0.5)

    assert found.partitions == frozenset()


@pytest.mark.parametrize("request_name", ["FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat"])
def test_a_lost_connection_is_made_up_for(cluster, make_member, request_name):
    """A request that was lost with its connection is sent again, and its member joins or stays."""
    lost = cluster.faults.add(Drop(request_name))
    lost_again = cluster.faults.add(Drop(request_name, nth=3))
    member = make_member()

    owner(member)
    while not (lost.fired and lost_again.fired) and request_name == "Heartbeat":
        member.poll(0.2)

    assert lost.fired
    owner(member)
    confirm_in_the_end(member)


@pytest.mark.parametrize("code", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_group_is_described_once_its_coordinator_is_ready(cluster, backend, code):
    """A new Kafka has no coordinator before its topic of group offsets exists; nobody should meet that as an error."""
    fault = cluster.faults.add(Fail("DescribeGroups", code=code, times=2))

    assert backend.admin().describe_group("unheard-of").members == ()
    assert fault.fired


def test_a_coordinator_that_is_not_there_yet_is_looked_for_until_it_is(cluster, backend):
    """A new Kafka makes the topic of group offsets when it is asked for the first time, which may take seconds."""
    admin = backend.admin()
    calls = {"described": admin.describe_group, "with-offsets": lambda group: admin.group_offsets(group, OWNED)}
    for group, call in calls.items():
        fault = cluster.faults.add(Fail("FindCoordinator", code="COORDINATOR_NOT_AVAILABLE", times=5))
        call(group)
        assert len(fault.firings) == 5
