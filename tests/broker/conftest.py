"""An embedded broker for each module, with unmodified clients."""

from __future__ import annotations

import itertools
import time
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.calls import Caller
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster

from .brokers import started
from .groups.group_requests import Raw
from .ready_topics import create

WAIT = 20.0
SWEEP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"


class Clients:
    """Unmodified confluent-kafka against one address."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self._made = []

    def topic(self, partitions: int = 1, **config: str) -> str:
        name = f"t-{uuid.uuid4().hex[:8]}"
        create(self.admin, self.servers, NewTopic(name, partitions, 1, config=config))
        return name

    def producer(self, transactional_id: str | None = None, **settings) -> Producer:
        name = transactional_id or f"p-{uuid.uuid4().hex[:8]}"
        made = Producer(
            {"bootstrap.servers": self.servers, "transactional.id": name, "linger.ms": 0, "log_level": 0, **settings}
        )
        made.init_transactions(WAIT)
        self._made.append(made)
        return made

    def values(self, topic: str, isolation: str = "read_committed", partitions: int = 1, start: int = 0) -> list[bytes]:
        """What a consumer sees up to the end its level allows."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "any",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(topic, number, start) for number in range(partitions)])
        found, ends = [], 0
        deadline = time.monotonic() + WAIT
        while ends < partitions and time.monotonic() < deadline:
            for message in consumer.consume(1000, 0.2):
                if message.error():
                    ends += 1
                else:
                    found.append(message.value())
        consumer.close()
        assert ends == partitions, "the consumer did not reach the end"
        return found


@pytest.fixture(scope="module")
def served():
    """A cluster that looks for late transactions often."""
    cluster = EmbeddedCluster.start({SWEEP: "50"}, ThreadRuntime())
    yield cluster
    cluster.close()


@pytest.fixture
def clients(served):
    return Clients(served.bootstrap_servers)


@pytest.fixture
def until():
    """Wait until a condition holds that another thread fulfils."""

    def wait(condition):
        deadline = time.monotonic() + WAIT
        for _ in itertools.takewhile(lambda _: time.monotonic() < deadline, itertools.count()):
            if condition():
                return
            time.sleep(0.01)
        pytest.fail("it never came about")

    return wait


@pytest.fixture(scope="session")
def admin(cluster):
    """An unmodified admin client of each cluster in turn."""
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})


@pytest.fixture(scope="session")
def new_topic(cluster):
    """Make topics on it."""
    return Clients(cluster.bootstrap_servers).topic


@pytest.fixture
def raw(cluster):
    """A connection to it for single requests."""
    made = Raw(cluster.bootstrap_servers)
    yield made
    made.close()


@pytest.fixture
def caller(cluster):
    """A connection to it for single requests with their answers."""
    made = Caller(cluster.bootstrap_servers)
    yield made
    made.close()


@pytest.fixture
def broker():
    """A broker without a network, with a topic of one partition."""
    return started(t=1)
