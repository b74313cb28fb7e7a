"""An aborted transaction leaves nothing for readers of committed records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eosfw.errors import RecordTooLargeError, UnknownTopicOrPartitionError
from eosfw.protocols import TransactionalProducer
from eosfw.records import ProducerBatch
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, commit, record


def test_an_abort_right_behind_the_first_send_leaves_the_producer_usable(lab: BackendHarness) -> None:
    """PRD-04: an abort that overtook the first AddPartitionsToTxn would end in a fatal error (librdkafka#4849)."""
    topic = lab.topic(partitions=3)
    for _ in range(4):
        producer = lab.producer()
        for turn in range(5):
            producer.begin_transaction()
            producer.send(record(topic, b"never", partition=turn % 3))
            producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert lab.values(topic) == [b"kept"]


def test_a_record_refused_by_the_cluster_prevents_the_commit(lab: BackendHarness) -> None:
    """PRD-04: no delivery callback was asked for, yet the failure surfaces."""
    topic = lab.topic(config={"max.message.bytes": "2000"})
    producer = lab.open_transaction(topic, b"small")
    producer.send(record(topic, b"x" * 3000))

    with pytest.raises(RecordTooLargeError):
        producer.commit_transaction(WAIT)
    with pytest.raises(RecordTooLargeError):
        producer.send(record(topic, b"more"))
    producer.abort_transaction(WAIT)

    assert lab.values(topic) == []


def test_a_too_large_record_fails_its_send_and_no_other_transaction(lab: BackendHarness) -> None:
    """PRD-04: the batch is refused as a whole."""
    topic = lab.topic()
    producer = lab.producer()
    producer.begin_transaction()

    with pytest.raises(RecordTooLargeError):
        producer.send_batch(ProducerBatch(topic, [b"small", b"x" * 3_000_000, b"small"], partition=0))
    producer.abort_transaction(WAIT)
    commit(producer, topic, b"kept")

    assert lab.values(topic) == [b"kept"]


def send_and_commit(producer: TransactionalProducer, topic: str, partition: int) -> None:
    # Which of the two notices hangs on what the client knew of the topic before.
    producer.send_batch(ProducerBatch(topic, [b"lost"] * 3, partition=partition))
    producer.commit_transaction(WAIT)


def send_and_flush(producer: TransactionalProducer, topic: str, partition: int) -> None:
    producer.send(record(topic, b"lost", partition=partition))
    producer.flush(WAIT)


@pytest.mark.parametrize(("partition", "attempt"), [(0, send_and_commit), (7, send_and_flush)])
def test_a_missing_partition_fails_the_transaction_not_the_producer(
    lab: BackendHarness, partition: int, attempt: Callable[[TransactionalProducer, str, int], None]
) -> None:
    """PRD-04: a missing topic, a missing partition."""
    topic = lab.topic()
    missing = lab.name() if partition == 0 else topic
    producer = lab.producer()
    producer.begin_transaction()
    with pytest.raises(UnknownTopicOrPartitionError):
        attempt(producer, missing, partition)

    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")
    assert lab.values(topic) == [b"kept"]
