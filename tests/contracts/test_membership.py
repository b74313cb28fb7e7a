"""Members of every backend keep the contract: by direct calls, over a socket, on a real Kafka, and in one group."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from pytest_eos.contracts import MembershipContract

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
