"""Give each test a `BackendHarness` over the memory client: direct calls, a socket, a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw_memory.client.backend import MemoryBackend
from pytest_eos.contracts.backends.harness import BackendHarness


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


@pytest.fixture
def runtime() -> Runtime:
    """Real threads, the real clock."""
    return ThreadRuntime()


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
