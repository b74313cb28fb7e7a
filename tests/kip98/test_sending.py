"""Many records, of many threads, in one transaction or in many: all arrive, in order, over all partitions."""

from __future__ import annotations

from contextlib import suppress

import pytest

from eosfw.errors import AbortableError, IllegalStateError
from eosfw.records import ProducerBatch, ProducerRecord
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

SENDERS, EACH = 4, 500


def test_many_senders_share_one_transaction_and_each_keeps_its_order(lab: BackendHarness) -> None:
    """PRD-06, PRD-07: sequence numbers follow the order of sending, per partition."""
    topic = lab.topic(partitions=2)
    producer = lab.producer()
    producer.begin_transaction()

    def sender(number: int) -> None:
        for turn in range(EACH):
            producer.send(record(topic, b"%d %d" % (number, turn), partition=number % 2))

    lab.together(*[lambda n=n: sender(n) for n in range(SENDERS)])
    producer.commit_transaction(WAIT)

    rows = lab.values(topic)
    for number in range(SENDERS):
        mine = [value for value in rows if value is not None and value.startswith(b"%d " % number)]
        assert mine == [b"%d %d" % (number, turn) for turn in range(EACH)]


def test_of_two_threads_that_end_a_transaction_one_succeeds(lab: BackendHarness) -> None:
    """PRD-06: one open transaction, one end."""
    topic = lab.topic()
    producer = lab.open_transaction(topic, b"kept")
    refused: list[IllegalStateError] = []

    def end() -> None:
        try:
            producer.commit_transaction(WAIT)
        except IllegalStateError as why:
            refused.append(why)

    lab.together(end, end)

    assert len(refused) == 1
    assert lab.values(topic) == [b"kept"]


@pytest.mark.parametrize("name", ["no/topic", "..", ""])
def test_a_record_for_a_topic_that_cannot_exist_keeps_its_transaction_from_committing(
    lab: BackendHarness, name: str
) -> None:
    """PRD-06: whether the send or the commit says so; the producer goes on with the next transaction."""
    topic = lab.topic()
    producer = lab.open_transaction(topic, b"lost")

    with suppress(AbortableError):
        producer.send_batch(ProducerBatch(name, [b"v"]))

    with pytest.raises(AbortableError):
        producer.commit_transaction(WAIT)
    producer.abort_transaction(WAIT)
    producer.begin_transaction()
    producer.send(record(topic, b"kept"))
    producer.commit_transaction(WAIT)
    assert lab.values(topic) == [b"kept"]


def test_a_batch_larger_than_the_buffer_arrives_whole_and_in_order(lab: BackendHarness) -> None:
    """PRD-07: the sender waits for room; nothing is dropped, nothing is sent twice."""
    topic = lab.topic()
    properties = {"buffer.memory": "65536", "linger.ms": "0"}
    producer = lab.producer(properties=properties)
    values = [b"%0100d" % number for number in range(5_000)]

    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, values, partition=0))
    producer.commit_transaction(WAIT)

    assert lab.values(topic) == values


def test_records_without_key_use_more_than_one_partition_over_time(lab: BackendHarness) -> None:
    """A batch may stick to one partition, a producer does not for ever.

    librdkafka draws a partition at random, anew after 10 ms: how many transactions that takes depends on their speed.
    """
    topic = lab.topic(partitions=3)
    producer = lab.producer()
    used = set()
    for _ in range(10_000):
        producer.begin_transaction()
        producer.send(ProducerRecord(topic, b"v"), lambda metadata, _: used.add(metadata and metadata.partition))
        producer.commit_transaction(WAIT)
        if len(used) > 1:
            break

    assert len({row.partition for row in lab.rows(topic)}) > 1
