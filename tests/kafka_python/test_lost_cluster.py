"""A producer of kafka-python that meets its cluster late, or loses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_memory.cluster import EmbeddedCluster

WAIT = 20.0


@pytest.fixture
def runtime() -> Runtime:
    """Real threads, the real clock."""
    return ThreadRuntime()


@pytest.fixture
def cluster(runtime: Runtime) -> Iterator[EmbeddedCluster]:
    """A cluster of this test alone, to be lost."""
    cluster = EmbeddedCluster.start({}, runtime)
    yield cluster
    cluster.close()


def test_closing_ends_the_thread_of_a_producer_whose_cluster_is_gone(
    cluster: EmbeddedCluster, runtime: Runtime
) -> None:
    """Common rules: no thread is left behind; the library's own close would leave it looking for a broker."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    producer = backend.producer("id")
    producer.init_transactions(WAIT)
    sender = producer._client._sender
    cluster.close()

    producer.close()
    sender.join(WAIT)

    assert not sender.is_alive()
    backend.close()
