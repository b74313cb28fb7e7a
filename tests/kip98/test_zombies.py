"""Whoever initialises a transactional id shuts out its earlier holder."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eosfw.errors import ProducerFencedError
from eosfw.protocols import TransactionalProducer
from eosfw.records import ProducerBatch
from kip98.lab import UNCOMMITTED, WAIT, BackendHarness, record


def test_zombie_commit_after_successor_starts_reaches_no_reader(lab: BackendHarness) -> None:
    """PRD-01, COR-03: initialising aborts the predecessor's open transaction, then raises the epoch."""
    topic, shared = lab.topic(), lab.name()
    zombie = lab.open_transaction(topic, b"zombie", transactional_id=shared)

    successor = lab.open_transaction(topic, b"successor", transactional_id=shared)
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)
    successor.commit_transaction(WAIT)

    assert lab.values(topic) == [b"successor"]


def test_zombie_send_after_successor_starts_reaches_no_reader(lab: BackendHarness) -> None:
    """COR-03: the partition refuses the old epoch, so not even a dirty reader sees the record."""
    topic, shared = lab.topic(), lab.name()
    zombie = lab.open_transaction(topic, b"before", transactional_id=shared)
    lab.producer(shared)

    zombie.send_batch(ProducerBatch(topic, [b"after"] * 10, partition=0))
    with pytest.raises(ProducerFencedError):
        zombie.flush(WAIT)

    assert lab.values(topic) == []
    assert lab.values(topic, UNCOMMITTED) == [b"before"]


def test_zombie_that_begins_after_its_successor_started_cannot_write(lab: BackendHarness) -> None:
    """COR-02, COR-03: same producer id, higher epoch, also when no transaction was open."""
    topic, shared = lab.topic(), lab.name()
    zombie = lab.producer(shared)
    lab.producer(shared)

    zombie.begin_transaction()
    zombie.send(record(topic, b"zombie"))
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)

    assert lab.values(topic, UNCOMMITTED) == []


def test_successor_never_waits_for_the_transaction_timeout_of_its_predecessor(lab: BackendHarness) -> None:
    """COR-03: an open transaction of fifteen minutes is aborted by the initialisation itself."""
    topic, shared = lab.topic(), lab.name()
    lab.open_transaction(topic, b"zombie", transactional_id=shared, timeout=900.0)
    assert lab.visible(topic) == []

    successor = lab.producer(shared)

    assert lab.values(topic) == []
    successor.begin_transaction()
    successor.send(record(topic, b"successor"))
    successor.commit_transaction(WAIT)
    assert lab.values(topic) == [b"successor"]


AFTER_FENCING: dict[str, Callable[[TransactionalProducer, str], None]] = {
    "begin": lambda producer, _: producer.begin_transaction(),
    "send": lambda producer, topic: producer.send(record(topic, b"late")),
    "send_batch": lambda producer, topic: producer.send_batch(ProducerBatch(topic, [b"late"])),
    "flush": lambda producer, _: producer.flush(WAIT),
    "commit": lambda producer, _: producer.commit_transaction(WAIT),
    "abort": lambda producer, _: producer.abort_transaction(WAIT),
    "init": lambda producer, _: producer.init_transactions(WAIT),
}


def test_a_fenced_producer_can_only_be_closed(lab: BackendHarness) -> None:
    """PRD-02: fatal has no exit."""
    topic, shared = lab.topic(), lab.name()
    zombie = lab.open_transaction(topic, b"zombie", transactional_id=shared)
    lab.producer(shared)
    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction(WAIT)

    for call in AFTER_FENCING.values():
        with pytest.raises(ProducerFencedError):
            call(zombie, topic)
    zombie.close()

    assert lab.values(topic) == []


def test_of_successive_holders_of_one_id_only_the_last_commits(lab: BackendHarness) -> None:
    """COR-03: one producer id, an epoch for each."""
    topic, shared = lab.topic(), lab.name()
    holders = [lab.open_transaction(topic, b"%d" % turn, transactional_id=shared) for turn in range(4)]

    *zombies, last = holders
    for zombie in zombies:
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)
    last.commit_transaction(WAIT)

    assert lab.values(topic) == [b"3"]
