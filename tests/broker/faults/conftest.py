"""Give each test a broker of its own, reached by direct calls, then over a socket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import FaultInjector
from pytest_eos.contracts.backends.harness import BackendHarness


@pytest.fixture
def runtime() -> Runtime:
    return ThreadRuntime()


@pytest.fixture
def cluster(runtime: Runtime) -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster.start({}, runtime)
    yield cluster
    cluster.close()


@pytest.fixture
def faults(cluster: EmbeddedCluster) -> FaultInjector:
    return cluster.faults


@pytest.fixture(params=["direct", "socket"])
def backend(request: pytest.FixtureRequest, cluster: EmbeddedCluster, runtime: Runtime) -> MemoryBackend:
    message = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": request.param}
    return MemoryBackend.connect(message, runtime)


@pytest.fixture
def lab(backend: MemoryBackend, runtime: Runtime) -> Iterator[BackendHarness]:
    lab = BackendHarness(backend, runtime)
    yield lab
    lab.close()
