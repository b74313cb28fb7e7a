"""Workers of a group sign their requests with the key that the config topic has (SEC-01..03)."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.clients import leader_producer
from eosfw.config.worker import WORKER
from eosfw.errors import RequestRefusedError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.protocols.herder import InternalRequest
from eosfw.runtime.fencing.request_signatures import InternalRequestSignatures
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.config_writer import ConfigWriter
from eosfw.state.storage.config_records import session_key_record

from .fake_cluster import FakeBackend, FakeCluster

HOUR = 3600.0


class Clock(ThreadRuntime):
    """Wall time that the test advances."""

    time = 1_700_000_000.0

    def wall(self) -> float:
        return self.time


class WorkerOfGroup:
    """A worker as far as signatures go; each reads the config topic itself."""

    def __init__(self, cluster: FakeCluster, clock: Clock, **properties: str) -> None:
        self.config = WORKER.parse({"group.id": "g", **properties})
        backend = FakeBackend(cluster)
        self.topic = ConfigTopic(backend, "g-configs", IsolationLevel.READ_COMMITTED, clock)
        settings = leader_producer(self.config, "connect-cluster-g")
        self.writer = ConfigWriter(backend, self.topic, clock, group_id="g", worker="w", settings=settings)
        self.signatures = InternalRequestSignatures(self.config, self.topic, clock)

    def publish_key_if_due(self) -> bool:
        self.writer.claim()
        key = self.signatures.new_key()
        if key is not None:
            self.writer.write([session_key_record(key)])
        return key is not None

    def read(self) -> None:
        with self.topic.reader() as reader:
            reader.read_to_end()

    def request(self) -> InternalRequest:
        headers = self.signatures.headers("PUT", "/connectors/c/fence", b"")
        return InternalRequest(
            "PUT", "/connectors/c/fence", b"", {name.lower(): text for name, text in headers.items()}
        )


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(logs={TopicPartition("g-configs", 0): []})


@pytest.fixture
def clock() -> Clock:
    return Clock()


def refusal(worker: WorkerOfGroup, request: InternalRequest) -> int:
    with pytest.raises(RequestRefusedError) as refused:
        worker.signatures.refuse_unless_valid(request)
    return refused.value.status


def test_a_follower_signs_what_the_leader_accepts(cluster: FakeCluster, clock: Clock) -> None:
    """SEC-01, SEC-02: the leader makes one key, the config topic carries it."""
    leader, follower = WorkerOfGroup(cluster, clock), WorkerOfGroup(cluster, clock)
    assert leader.publish_key_if_due()
    follower.read()
    request = follower.request()

    leader.signatures.refuse_unless_valid(request)

    assert not leader.publish_key_if_due(), "one key serves until it expires"
    assert refusal(leader, request) == 403, "a request is accepted once"


def test_a_worker_that_read_no_key_can_neither_sign_nor_check(cluster: FakeCluster, clock: Clock) -> None:
    """SEC-03."""
    leader, newcomer = WorkerOfGroup(cluster, clock), WorkerOfGroup(cluster, clock)
    leader.publish_key_if_due()

    assert refusal(newcomer, leader.request()) == 503
    with pytest.raises(RequestRefusedError, match="has not been able to read a session key"):
        newcomer.request()


def test_requests_go_on_while_workers_learn_of_a_new_key(cluster: FakeCluster, clock: Clock) -> None:
    """SEC-01: the key lives for an hour; a follower that lags behind still signs with the one before."""
    leader, follower = WorkerOfGroup(cluster, clock), WorkerOfGroup(cluster, clock)
    leader.publish_key_if_due()
    follower.read()

    clock.time += HOUR
    assert leader.publish_key_if_due()
    leader.signatures.refuse_unless_valid(follower.request())
    clock.time += 61
    assert refusal(leader, follower.request()) == 403
    follower.read()
    leader.signatures.refuse_unless_valid(follower.request())


@pytest.mark.parametrize("protocol", ["eager", "compatible"])
def test_without_sessions_nothing_is_signed_or_checked(cluster: FakeCluster, clock: Clock, protocol: str) -> None:
    """SEC-03."""
    worker = WorkerOfGroup(cluster, clock, **{"connect.protocol": protocol})

    assert not worker.publish_key_if_due()
    assert worker.request().headers == {}
    worker.signatures.refuse_unless_valid(worker.request())
