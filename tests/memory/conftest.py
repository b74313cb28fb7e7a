"""Give each test a `BackendHarness` over the memory client: direct calls, a socket, a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay, Fault
from pytest_eos.contracts.backends.harness import BackendHarness

RUNTIME = ThreadRuntime()


@dataclass(frozen=True, slots=True)
class Reached:
    """A cluster with the transport that leads there."""

    name: str
    bootstrap_servers: str
    transport: str

    def backend(self, runtime: Runtime, **properties: str) -> MemoryBackend:
        """A client of it."""
        message = {"bootstrap.servers": self.bootstrap_servers, "eosfw.transport": self.transport}
        return MemoryBackend.connect({**message, **properties}, runtime)


NO_NEW_TOPICS = pytest.mark.parametrize("cluster_properties", [{"auto.create.topics.enable": "false"}], ids=[""])
"""The cluster of this test creates no topic that is merely written to."""


def counted(cluster: EmbeddedCluster, request: str) -> Fault:
    """Fires at every request of a kind, and changes nothing."""
    return cluster.faults.add(Delay(request, seconds=0.0, times=1_000))


@pytest.fixture
def runtime() -> Runtime:
    """Real threads, the real clock."""
    return RUNTIME


WAYS = {"direct": ("embedded", "direct"), "socket": ("embedded", "socket"), "kafka": ("real_kafka", "auto")}


@pytest.fixture(scope="session", params=["direct", "socket", pytest.param("kafka", marks=pytest.mark.kafka)])
def cluster(request: pytest.FixtureRequest) -> Reached:
    """Each way to a cluster in turn."""
    fixture, transport = WAYS[request.param]
    return Reached(request.param, request.getfixturevalue(fixture), transport)


@pytest.fixture
def lab(cluster: Reached, runtime: Runtime) -> Iterator[BackendHarness]:
    """A `BackendHarness` that is closed after the test."""
    lab = BackendHarness(cluster.backend(runtime), runtime)
    yield lab
    lab.close()


@pytest.fixture
def cluster_properties() -> dict[str, str]:
    """Of the cluster of one test; a test that wants others parametrizes it."""
    return {}


@pytest.fixture
def own(cluster_properties: dict[str, str]) -> Iterator[EmbeddedCluster]:
    """A cluster of one test, for faults that name no client."""
    cluster = EmbeddedCluster.start(cluster_properties, RUNTIME)
    yield cluster
    cluster.close()


@pytest.fixture
def direct(own: EmbeddedCluster) -> Iterator[BackendHarness]:
    """The client of that cluster."""
    lab = BackendHarness(MemoryBackend.connect({"bootstrap.servers": own.bootstrap_servers}, RUNTIME), RUNTIME)
    yield lab
    lab.close()


@pytest.fixture(params=["direct", "socket"])
def by_transport(own: EmbeddedCluster, request: pytest.FixtureRequest) -> Iterator[BackendHarness]:
    """The client on each transport in turn."""
    given = {"bootstrap.servers": own.bootstrap_servers, "eosfw.transport": request.param}
    lab = BackendHarness(MemoryBackend.connect(given, RUNTIME), RUNTIME)
    yield lab
    lab.close()
