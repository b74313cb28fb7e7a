"""A record that a broker refuses only while its transaction is aborted costs nothing but that transaction."""

from __future__ import annotations

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import AbortableError
from eosfw.protocols import Backend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay, Fail
from kip98.clients import OVER_SOCKETS, ClientOnCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, commit, record


@pytest.fixture(scope="module", params=OVER_SOCKETS)
def way(request: pytest.FixtureRequest) -> ClientOnCluster:
    """Each client in turn, on a broker that refuses records when asked to."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def backend(way: ClientOnCluster, own_cluster: EmbeddedCluster, runtime: Runtime) -> Backend:
    """A client of the cluster of one test."""
    return way.connect(own_cluster.bootstrap_servers, runtime)


def test_a_producer_goes_on_after_a_record_that_was_refused_during_the_abort(
    lab: BackendHarness, own_cluster: EmbeddedCluster, runtime: Runtime
) -> None:
    """PRD-04, BRK-02: the sequence numbers of the record are missing."""
    topic, producer = lab.topic(), lab.producer()
    commit(producer, topic, b"before")
    late = own_cluster.faults.add(Delay("Produce", seconds=0.5))
    refused = own_cluster.faults.add(Fail("Produce", code="MESSAGE_TOO_LARGE"))
    producer.begin_transaction()
    producer.send(record(topic, b"refused"))
    runtime.sleep(0.2)  # the record is on its way, where the client sends by itself
    producer.abort_transaction(WAIT)
    for fault in (late, refused):
        if not fault.firings:
            own_cluster.faults.remove(fault)

    try:
        commit(producer, topic, b"after")
    except AbortableError:  # librdkafka has lost its sequence numbers; this abort gets a new epoch
        producer.abort_transaction(WAIT)
        commit(producer, topic, b"after")

    assert lab.values(topic) == [b"before", b"after"]
