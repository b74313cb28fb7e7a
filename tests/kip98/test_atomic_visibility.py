"""A transaction becomes visible whole, or not at all."""

from __future__ import annotations

from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness, record


def test_committed_records_stay_visible_during_the_next_transaction(lab: BackendHarness) -> None:
    """PRD-04: a producer begins its next transaction after a commit."""
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
