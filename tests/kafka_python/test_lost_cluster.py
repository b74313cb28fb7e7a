"""A producer of kafka-python that meets its cluster late, or loses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.errors import ClusterUnavailableError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import OffsetRange, ProducerRecord
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


def test_a_record_sent_before_the_first_connection_is_reported_once(runtime: Runtime) -> None:
    """DeliveryCallback: told once for each record, before the flush returns; never dropped in silence."""
    nowhere = {"bootstrap.servers": "127.0.0.1:1", "max.block.ms": "200"}
    plain = KafkaPythonBackend.connect(nowhere, runtime).producer(None)
    heard: list[tuple[object, type]] = []
    for _ in range(3):
        plain.send(ProducerRecord("topic", b"v"), lambda place, why: heard.append((place, type(why))))

    with pytest.raises(ClusterUnavailableError, match=r"127\.0\.0\.1:1"):
        plain.flush(WAIT)

    assert heard == [(None, ClusterUnavailableError)] * 3
    plain.close()


def test_records_sent_before_the_cluster_was_met_keep_their_order(cluster: EmbeddedCluster, runtime: Runtime) -> None:
    """TransactionalProducer: those of one sender and partition."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    backend.admin().create_topics([NewTopic("topic")])
    plain = backend.producer(None)
    sent = [b"%d" % number for number in range(500)]
    for value in sent:
        plain.send(ProducerRecord("topic", value, partition=0))
    plain.flush(WAIT)

    one = TopicPartition("topic", 0)
    batches = backend.reader(IsolationLevel.READ_COMMITTED).read({one: OffsetRange(0, len(sent))}, WAIT)

    assert [value for batch in batches for value in batch.values] == sent
    backend.close()
