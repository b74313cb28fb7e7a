"""When the cluster goes away, nobody claims to know what happened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from eosfw.errors import (
    ClusterUnavailableError,
    EosfwError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    RetriableError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, IsolationLevel, NewTopic
from eosfw.records import OffsetRange, ProducerBatch, ProducerRecord
from eosfw.waiting import Runtime, ThreadRuntime
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_kafka_python.producer import KafkaPythonProducer
from eosfw_memory.cluster import EmbeddedCluster

WAIT, BOUND, SLACK = 20.0, 1.0, 3.0


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


@pytest.fixture
def producer(cluster: EmbeddedCluster, runtime: Runtime) -> Iterator[KafkaPythonProducer]:
    """A producer inside a transaction, its records written."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    backend.admin().create_topics([NewTopic("topic")])
    producer = backend.producer("id")
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.send_batch(ProducerBatch("topic", [b"v"] * 10, partition=0))
    producer.flush(WAIT)
    yield producer
    backend.close()


ENDS: dict[str, Callable[[KafkaPythonProducer], None]] = {
    "commit": lambda producer: producer.commit_transaction(BOUND),
    "abort": lambda producer: producer.abort_transaction(BOUND),
    "send_offsets": lambda producer: producer.send_offsets(
        {TopicPartition("topic", 0): 1}, ConsumerGroupMetadata("group"), BOUND
    ),
}


LONG: dict[str, Callable[[KafkaPythonProducer], None]] = {
    "commit": lambda producer: producer.commit_transaction(3600.0),
    "abort": lambda producer: producer.abort_transaction(3600.0),
    "send_offsets": lambda producer: producer.send_offsets(
        {TopicPartition("topic", 0): 1}, ConsumerGroupMetadata("group"), 3600.0
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_without_an_answer_is_indefinite_within_its_deadline(
    producer: KafkaPythonProducer, cluster: EmbeddedCluster, runtime: Runtime, end: str
) -> None:
    """Design decision 7: the transaction may have been ended; the producer is never used again."""
    cluster.close()
    began = runtime.now()

    with pytest.raises(IndefiniteOutcomeError):
        ENDS[end](producer)

    assert runtime.now() - began < BOUND + SLACK
    with pytest.raises(IndefiniteOutcomeError):
        producer.begin_transaction()
    with pytest.raises(IndefiniteOutcomeError):
        producer.abort_transaction(BOUND)


def test_a_flush_without_an_answer_is_indefinite(producer: KafkaPythonProducer, cluster: EmbeddedCluster) -> None:
    """Design decision 7: a record may have been written."""
    cluster.close()
    producer.send_batch(ProducerBatch("topic", [b"w"] * 10, partition=0))

    with pytest.raises(IndefiniteOutcomeError):
        producer.flush(BOUND)


def test_a_reader_whose_cluster_went_away_ends_by_an_error(cluster: EmbeddedCluster, runtime: Runtime) -> None:
    """LogReader: never an end that only looks like one."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    backend.admin().create_topics([NewTopic("topic")])
    reader = backend.reader(IsolationLevel.READ_COMMITTED)
    cluster.close()

    with pytest.raises(RetriableError, match=cluster.bootstrap_servers):
        list(reader.read({TopicPartition("topic", 0): OffsetRange(0, 1)}, BOUND))
    backend.close()


@pytest.mark.parametrize("end", ENDS)
def test_closing_frees_whoever_waits_for_an_answer_that_never_comes(
    producer: KafkaPythonProducer, cluster: EmbeddedCluster, end: str
) -> None:
    """Common rules: close may be called from any thread; no thread is left behind."""
    cluster.close()
    caught: list[EosfwError] = []
    sender = producer._client._sender

    def wait() -> None:
        try:
            LONG[end](producer)
        except EosfwError as why:
            caught.append(why)

    waiting = threading.Thread(target=wait)
    waiting.start()
    producer.close()
    waiting.join(WAIT)
    sender.join(WAIT)

    assert (waiting.is_alive(), sender.is_alive()) == (False, False)
    assert [isinstance(why, (FatalError, IllegalStateError)) for why in caught] == [True]


def test_a_record_sent_before_the_cluster_was_met_is_reported_once_all_the_same(runtime: Runtime) -> None:
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
