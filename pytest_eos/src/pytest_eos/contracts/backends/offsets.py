"""The contract of a backend for offsets that commit with their records (KIP-98, KIP-618)."""

from __future__ import annotations

import pytest

from eosfw.errors import EosfwError, ProducerFencedError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, TransactionalProducer
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness, record
from pytest_eos.contracts.backends.transactions import needs_transactions

_SHORT = {"default.api.timeout.ms": "500"}


class OffsetsContract(BackendUnderTestFixtures):
    """Part of BackendContract: for backends that declare `transactions`."""

    # --- offsets of sources: records of a topic like others (KIP-618)

    @needs_transactions
    def test_source_offsets_commit_in_the_transaction_of_their_records(self, lab: BackendHarness) -> None:
        """TXN-02: in the log after the flush, and visible with the commit, neither earlier nor later."""
        topic, offsets = lab.topic(), lab.offsets_topic()
        producer = lab.producer()
        producer.begin_transaction()

        _send_both(producer, topic, offsets)
        producer.flush(WAIT)

        assert lab.visible(offsets) == [], "source offsets were written outside the transaction: at once"
        assert lab.end(offsets, UNCOMMITTED) == 1, (
            "source offsets were flushed, yet are not in the log: they were kept, to be written outside the transaction"
        )
        producer.commit_transaction(WAIT)
        assert (lab.values(topic), lab.values(offsets)) == ([b"v"], [b"o"])

    @needs_transactions
    def test_source_offsets_are_taken_back_with_their_records(self, lab: BackendHarness) -> None:
        """TXN-02: otherwise their records are lost, because a resumed task starts after them."""
        topic, offsets = lab.topic(), lab.offsets_topic()
        producer = lab.producer()
        producer.begin_transaction()
        _send_both(producer, topic, offsets)

        producer.abort_transaction(WAIT)

        assert lab.values(offsets) == [], "source offsets of an aborted transaction are visible, without their records"
        assert lab.values(topic) == [], "an aborted record is visible: the abort committed"

    @needs_transactions
    def test_source_offsets_of_a_zombie_are_never_visible(self, lab: BackendHarness) -> None:
        """COR-03: they would move its successor's offsets back."""
        topic, offsets, own = lab.topic(), lab.offsets_topic(), lab.name()
        zombie = lab.producer(own)
        zombie.begin_transaction()
        _send_both(zombie, topic, offsets)
        lab.producer(own)

        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)

        assert lab.values(offsets) == [], "source offsets of a zombie are visible: written outside its transaction"

    # --- offsets of a consumer group (KIP-447)

    @needs_transactions
    def test_offsets_of_a_group_commit_with_their_transaction(self, lab: BackendHarness) -> None:
        """PRD-05: a program that copies between topics resumes after what it has written."""
        one, group = TopicPartition(lab.topic(), 0), ConsumerGroupMetadata(lab.group())
        producer = lab.producer()
        _begin_with_group_offset(producer, group, one, 5)

        producer.commit_transaction(WAIT)

        committed = lab.admin.group_offsets(group.group_id, [one])
        assert committed == {one: 5}, "a group's offsets were not committed with their transaction: it has others, none"

    @needs_transactions
    def test_offsets_of_a_group_are_taken_back_with_their_transaction(self, lab: BackendHarness) -> None:
        """PRD-05: the group resumes at its old offsets, because its records were aborted."""
        one, group = TopicPartition(lab.topic(), 0), ConsumerGroupMetadata(lab.group())
        producer = lab.producer()
        producer.begin_transaction()
        producer.send_offsets({one: 9}, group, WAIT)

        producer.abort_transaction(WAIT)

        assert lab.admin.group_offsets(group.group_id, [one]) == {}, (
            "a group's offsets of an aborted transaction count: written outside the transaction, or the abort committed"
        )

    @needs_transactions
    def test_group_offsets_sent_by_a_zombie_are_discarded(self, lab: BackendHarness) -> None:
        """COR-03, KIP-447: also if the client sends them with its commit."""
        one, group, own = TopicPartition(lab.topic(), 0), ConsumerGroupMetadata(lab.group()), lab.name()
        zombie = lab.producer(own)
        _begin_with_group_offset(zombie, group, one, 9)
        lab.producer(own)

        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)

        assert lab.admin.group_offsets(group.group_id, [one]) == {}, (
            "a group's offsets that a zombie sent count: written outside its transaction"
        )

    @needs_transactions
    def test_group_offsets_in_an_open_transaction_are_not_returned(self, lab: BackendHarness) -> None:
        """GRP-03: after `send_offsets`; a consumer that resumed at the old offsets would read records twice."""
        one, group = TopicPartition(lab.topic(), 0), ConsumerGroupMetadata(lab.group())
        producer = lab.producer()
        _begin_with_group_offset(producer, group, one, 5)

        answer = _offsets_without_waiting(lab, group.group_id, one)

        assert answer is None, (
            "a group's offsets are told while their transaction is open: `send_offsets` did not make them part of it"
        )
        producer.commit_transaction(WAIT)
        assert lab.admin.group_offsets(group.group_id, [one]) == {one: 5}


def _begin_with_group_offset(
    producer: TransactionalProducer, group: ConsumerGroupMetadata, one: TopicPartition, offset: int
) -> None:
    producer.begin_transaction()
    producer.send(record(one.topic, b"v"))
    producer.send_offsets({one: offset}, group, WAIT)


def _send_both(producer: TransactionalProducer, topic: str, offsets: str) -> None:
    producer.send(record(topic, b"v"))
    producer.send(record(offsets, b"o", key=b"k"))


def _offsets_without_waiting(lab: BackendHarness, group: str, one: TopicPartition) -> object:
    """A group's offsets for a client that does not wait; None if the answer is delayed."""
    hasty = lab.backend.admin(_SHORT)
    try:
        return hasty.group_offsets(group, [one])
    except EosfwError:
        return None
    finally:
        hasty.close()
