"""A transaction becomes visible whole, or not at all."""

from __future__ import annotations

from eosfw.records import ProducerBatch
from kip98.lab import UNCOMMITTED, WAIT, BackendHarness, record


def test_records_of_one_transaction_over_several_partitions_appear_together(lab: BackendHarness) -> None:
    """COR-09, PRD-03: one decision, a control record into every partition."""
    first, second = lab.topic(partitions=3), lab.topic()
    producer = lab.producer()
    producer.begin_transaction()
    for partition in range(3):
        producer.send_batch(ProducerBatch(first, [b"a", b"b"], partition=partition))
    producer.send(record(second, b"c"))
    producer.flush(WAIT)
    assert (lab.visible(first), lab.visible(second)) == ([], [])

    producer.commit_transaction(WAIT)

    assert lab.values(first) == [b"a", b"b"] * 3
    assert lab.values(second) == [b"c"]


def test_what_is_committed_stays_visible_while_the_next_transaction_is_open(lab: BackendHarness) -> None:
    """PRD-04: a producer goes on after a commit."""
    topic = lab.topic()
    producer = lab.producer()
    producer.begin_transaction()
    producer.send(record(topic, b"first"))
    producer.commit_transaction(WAIT)

    producer.begin_transaction()
    producer.send(record(topic, b"second"))
    producer.flush(WAIT)

    assert lab.visible(topic) == [b"first"]
    assert lab.values(topic, UNCOMMITTED) == [b"first", b"second"]


def test_transactions_of_two_producers_in_one_partition_are_decided_each_for_itself(lab: BackendHarness) -> None:
    """COR-08, CON-01: the earlier one, still open, holds the later one back until it is decided."""
    topic = lab.topic()
    earlier = lab.open_transaction(topic, b"earlier")
    later = lab.open_transaction(topic, b"later")
    later.commit_transaction(WAIT)
    assert lab.visible(topic) == []

    earlier.abort_transaction(WAIT)

    assert lab.values(topic) == [b"later"]


def test_a_transaction_without_records_may_be_committed(lab: BackendHarness) -> None:
    """PRD-04, COR-08: the coordinator never hears of it."""
    topic = lab.topic()
    producer = lab.producer()
    producer.begin_transaction()
    producer.commit_transaction(WAIT)

    producer.begin_transaction()
    producer.send(record(topic, b"after"))
    producer.commit_transaction(WAIT)

    assert lab.values(topic) == [b"after"]
