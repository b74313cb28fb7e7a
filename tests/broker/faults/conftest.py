"""Give each test a broker of its own, with a client."""

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


@pytest.fixture
def transport() -> str:
    """How the client reaches the broker; `test_kinds` has each fault over direct calls, too."""
    return "socket"


@pytest.fixture
def backend(transport: str, cluster: EmbeddedCluster, runtime: Runtime) -> MemoryBackend:
    properties = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": transport}
    return MemoryBackend.connect(properties, runtime)


@pytest.fixture
def lab(backend: MemoryBackend, runtime: Runtime) -> Iterator[BackendHarness]:
    lab = BackendHarness(backend, runtime)
    yield lab
    lab.close()
