"""Groups of three workers over sockets, with every client: real threads, real timeouts.

`tests/groups` does the same to processes on a real Kafka, so that here it is asked each night alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.herder.worker_groups import Workers

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from pytest_eos.environment.clusters.cluster import Cluster

pytestmark = pytest.mark.ci
NIGHTLY = [pytest.mark.kafka, pytest.mark.nightly]
WAYS = [
    pytest.param(("memory", "quick"), id="memory"),
    pytest.param(("confluent", "quick"), id="confluent"),
    pytest.param(("kafka-python", "quick"), id="kafka-python"),
    pytest.param(("confluent", "real_kafka"), id="confluent-kafka", marks=NIGHTLY),
    pytest.param(("memory", "real_kafka"), id="memory-kafka", marks=NIGHTLY),
    pytest.param(("kafka-python", "real_kafka"), id="kafka-python-kafka", marks=NIGHTLY),
]


@pytest.fixture(scope="module")
def quick() -> Iterator[str]:
    """An embedded cluster that allows short sessions."""
    cluster = EmbeddedCluster.start({"group.min.session.timeout.ms": "500"}, ThreadRuntime())
    yield cluster.bootstrap_servers
    cluster.close()


@pytest.fixture(params=WAYS)
def group(request: pytest.FixtureRequest) -> Iterator[Workers]:
    """A group without workers, whose lost tasks wait for nobody."""
    backend, where = request.param
    worker = {
        "session_timeout_ms": "3000" if where == "quick" else "6000",
        "heartbeat_interval_ms": "500",
        "rebalance_timeout_ms": "10000",
        "scheduled_rebalance_max_delay_ms": "0",
        "task_shutdown_graceful_timeout_ms": "2000",
    }
    with Workers(Cluster(request.getfixturevalue(where)), backend, **worker) as made:
        yield made


def started(group: Workers) -> None:
    """Three workers with five tasks."""
    for name in "abc":
        group.start(name)
    group.put(5)
    group.until_shared(1, 2, 2)
    group.until_more()


def test_workers_that_crash_or_restart_lose_and_repeat_nothing(group):
    """The leader crashes, then each worker restarts; what moved goes on from its committed offsets."""
    started(group)
    victim = group.leader_name()
    group.kill(victim)
    group.until_shared(2, 3)
    group.until_more()
    group.start(victim)
    group.until_shared(1, 2, 2)

    for name in "abc":
        group.stop(name)
        group.start(name)
        group.until_shared(1, 2, 2)

    group.until_more()
    group.check_exactly_once()
    assert group.failures() == []


@pytest.mark.parametrize("whom", ["leader", pytest.param("follower", marks=pytest.mark.nightly)])
def test_a_worker_that_freezes_and_wakes_lets_its_successors_be(group, whom):
    """Its group finds out by the session timeout, and it by its fenced producers."""
    started(group)
    victim = group.leader_name() if whom == "leader" else group.follower_name()
    group.backends[victim].frozen = True
    group.until_shared(2, 3)
    group.until_more()

    group.backends[victim].frozen = False

    group.until_shared(1, 2, 2)
    group.put(3)
    group.until_shared(1, 1, 1)
    group.until_more()
    group.check_exactly_once()
