"""An idempotent producer without transactional id retries unanswered requests without duplicates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.memory.test_delivery import direct, lost, trouble

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import FatalError, RecordTooLargeError
from eosfw.ids import TopicPartition
from eosfw.records import ProducerBatch
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.transport.apis import PRODUCE
from eosfw_memory.cluster import EmbeddedCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

__all__ = ["direct", "trouble"]
IDEMPOTENT = {"enable.idempotence": "true"}


@pytest.fixture
def own() -> Iterator[EmbeddedCluster]:
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    yield cluster
    cluster.close()


def test_a_produce_retry_after_a_lost_answer_stores_records_once(direct: BackendHarness, trouble) -> None:
    """PRD-01, BRK-02: by a producer id for nothing else, which `enable.idempotence` asks for."""
    topic, producer = direct.topic(), direct.backend.producer(None, properties=IDEMPOTENT)
    made = trouble(PRODUCE, lost, lost)

    producer.send_batch(ProducerBatch(topic, [b"a", b"b"], partition=0))
    producer.flush(WAIT)

    assert (made.count("InitProducerId"), made.count("Produce")) == (1, 3)
    assert direct.values(topic) == [b"a", b"b"]


def test_without_idempotence_a_lost_answer_is_not_asked_for_again(direct: BackendHarness, trouble) -> None:
    """So it is the producer id that makes the repetition harmless."""
    topic, producer = direct.topic(), direct.backend.producer(None)
    made = trouble(PRODUCE, lost)

    producer.send(record(topic, b"a"))
    with pytest.raises(FatalError):
        producer.flush(WAIT)

    assert (made.count("InitProducerId"), made.count("Produce")) == (0, 1)


def test_each_idempotent_producer_has_an_id_of_its_own(lab: BackendHarness) -> None:
    """PRD-01: any broker assigns one without fencing. Over every transport, and on a real Kafka."""
    topic = lab.topic()
    producers = [lab.backend.producer(None, properties=IDEMPOTENT) for _ in range(2)]
    for number in range(3):
        for producer in producers:
            producer.send(record(topic, b"%d" % number))
            producer.flush(WAIT)

    states = lab.admin.describe_producers([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]

    assert sorted(lab.values(topic)) == [b"0", b"0", b"1", b"1", b"2", b"2"]
    assert len({each.producer.producer_id for each in states}) == 2
    assert {(each.last_sequence, each.open_since) for each in states} == {(2, None)}


def test_a_refused_batch_leaves_no_gap_behind(own: EmbeddedCluster) -> None:
    """BRK-02: what was sent behind it in the same call gets its sequence numbers, else all would be refused."""
    backend = MemoryBackend.connect({"bootstrap.servers": own.bootstrap_servers}, ThreadRuntime())
    lab = BackendHarness(backend, ThreadRuntime())
    topic = lab.topic(config={"max.message.bytes": "1000"})
    producer = backend.producer(None, properties=IDEMPOTENT)
    producer.send(record(topic, b"first"))
    producer.flush(WAIT)
    heard = []

    for value in (b"x" * 2000, b"behind"):
        producer.send(record(topic, value), lambda place, _: heard.append(place is not None))
        producer._close_batches()  # a batch for each, as if they had come one by one to a busy producer
    with pytest.raises(RecordTooLargeError):
        producer.flush(WAIT)
    producer.flush(WAIT)
    producer.send(record(topic, b"last"))
    producer.flush(WAIT)

    assert heard == [False, True]
    assert lab.values(topic) == [b"first", b"behind", b"last"]
    lab.close()
