"""Find and end transactions that hang: records of a transaction that no coordinator knows (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.hanging_transactions import find_hanging
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import NewTopic
from eosfw_memory.client.admin.admin import MemoryAdmin
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.storage.records.codec import encode_batch
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness

RUNTIME = ThreadRuntime()
IN_TIME = FenceProducersOptions(WAIT)
STRANGER = ProducerIdAndEpoch(4242, 0)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster.start({}, RUNTIME)
    yield cluster
    cluster.close()


@pytest.fixture(params=["direct", "socket"])
def backend(cluster: EmbeddedCluster, request: pytest.FixtureRequest) -> Iterator[MemoryBackend]:
    message = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": request.param}
    backend = MemoryBackend.connect(message, RUNTIME)
    yield backend
    backend.close()


@pytest.fixture
def admin(backend: MemoryBackend) -> MemoryAdmin:
    return backend.admin()


def hang(cluster: EmbeddedCluster, admin: MemoryAdmin, topic: str) -> TopicPartition:
    """Leave records of a transaction that no coordinator knows, as brokers before KIP-890 could be brought to."""
    admin.create_topics([NewTopic(topic)])
    partition = cluster.broker.topics.partition(topic, 0)
    assert partition is not None
    batch = encode_batch(None, [b"lost"], 1000, producer=STRANGER, base_sequence=0, transactional=True)
    partition.log.append(batch, 1000)
    return TopicPartition(topic, 0)


def test_a_hanging_transaction_is_found_and_ended(
    cluster: EmbeddedCluster, backend: MemoryBackend, admin: MemoryAdmin
) -> None:
    """COR-18, KIP-664: the last stable offset moves behind it, readers go on."""
    lab = BackendHarness(backend, RUNTIME)
    where = hang(cluster, admin, "orders")
    lab.write("orders", b"waiting")
    assert lab.end("orders", COMMITTED) == 0

    (found,) = find_hanging(admin, [where], RUNTIME.wall())
    assert (found.partition, found.start_offset, found.transactional_id) == (where, 0, None)
    admin.abort_transaction(found.partition, found.start_offset)

    assert lab.end("orders", COMMITTED) == lab.end("orders", UNCOMMITTED)
    assert lab.values("orders") == [b"waiting"]
    assert find_hanging(admin, [where], RUNTIME.wall()) == []


def test_a_blocking_producer_unknown_to_its_coordinator_is_named(cluster: EmbeddedCluster, admin: MemoryAdmin) -> None:
    """COR-18: by his producer id."""
    where = hang(cluster, admin, "orders")

    (found,) = admin.open_transactions([where])

    assert (found.producer, found.first_offset) == (STRANGER, 0)
    assert str(STRANGER.producer_id) in found.transactional_id
