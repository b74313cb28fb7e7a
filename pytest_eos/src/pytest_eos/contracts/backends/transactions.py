"""The contract of a backend with transactions (KIP-98)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eosfw.errors import (
    AbortableError,
    EosfwError,
    FatalError,
    IllegalStateError,
    InvalidTransactionTimeoutError,
    ProducerFencedError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, NewTopic, TransactionalProducer
from eosfw.records import ProducerBatch
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness, commit, record

SOON = 3.0
"""The transaction timeout of a test that waits for it, in seconds; enough for a write on a busy machine."""

needs_transactions = pytest.mark.eos_needs("transactions", "read_committed")
CALLS: dict[str, Callable[[TransactionalProducer, str], None]] = {
    "init_transactions": lambda producer, _: producer.init_transactions(WAIT),
    "begin_transaction": lambda producer, _: producer.begin_transaction(),
    "send": lambda producer, topic: producer.send(record(topic, b"early")),
    "send_offsets": lambda producer, topic: producer.send_offsets(
        {TopicPartition(topic, 0): 1}, ConsumerGroupMetadata("early"), WAIT
    ),
    "commit_transaction": lambda producer, _: producer.commit_transaction(WAIT),
    "abort_transaction": lambda producer, _: producer.abort_transaction(WAIT),
}


class TransactionContract(BackendUnderTestFixtures):
    """Part of BackendContract: for backends that declare `transactions`."""

    # --- all or nothing

    @needs_transactions
    def test_records_of_one_transaction_appear_together_in_every_partition(self, lab: BackendHarness) -> None:
        """COR-09, CON-01: none before the commit, all after it."""
        first, second = lab.topic(partitions=2), lab.topic()
        producer = lab.producer()
        producer.begin_transaction()
        for partition in range(2):
            producer.send_batch(ProducerBatch(first, [b"a", b"b"], partition=partition))
        producer.send(record(second, b"c"))
        producer.flush(WAIT)
        assert (lab.visible(first), lab.visible(second)) == ([], []), "records of an open transaction are visible"

        producer.commit_transaction(WAIT)

        assert lab.values(first) == [b"a", b"b"] * 2
        assert lab.values(second) == [b"c"]

    @needs_transactions
    def test_an_abort_discards_every_record_and_the_producer_stays_usable(self, lab: BackendHarness) -> None:
        """PRD-04, CON-02: in every partition, also records that were flushed before; dirty readers may see those."""
        topic = lab.topic(partitions=2)
        producer = lab.open_transaction(topic, b"taken back")
        producer.send(record(topic, b"taken back", partition=1))

        producer.abort_transaction(WAIT)

        assert lab.values(topic) == [], "an aborted record is visible"
        assert b"taken back" in lab.values(topic, UNCOMMITTED)
        commit(producer, topic, b"kept")
        assert lab.values(topic) == [b"kept"]

    @needs_transactions
    @pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
    def test_a_transaction_without_records_may_end(self, lab: BackendHarness, end: str) -> None:
        """PRD-04, COR-08: no request is sent to the coordinator."""
        topic = lab.topic()
        producer = lab.producer()
        producer.begin_transaction()

        CALLS[end](producer, topic)

        commit(producer, topic, b"kept")
        assert lab.values(topic) == [b"kept"]

    @needs_transactions
    def test_an_undeliverable_record_prevents_the_commit_of_its_transaction(self, lab: BackendHarness) -> None:
        """PRD-04: the failure is raised even without a callback; after an abort the producer works again."""
        topic = lab.topic()
        producer = lab.open_transaction(topic, b"good")

        with pytest.raises(AbortableError):
            _send_and_commit(producer, topic, partition=7)
        producer.abort_transaction(WAIT)

        assert lab.values(topic) == [], "part of a transaction was committed without the rest"
        commit(producer, topic, b"kept")
        assert lab.values(topic) == [b"kept"]

    @needs_transactions
    @pytest.mark.parametrize("flushed", [False, True], ids=["unflushed", "flushed"])
    def test_a_producer_works_again_after_a_broker_refused_its_record(
        self,
        lab: BackendHarness,
        flushed: bool,  # noqa: FBT001
    ) -> None:
        """PRD-04: the sequence numbers of the record are missing; at the latest a second abort gets a new epoch."""
        topic = lab.name()
        lab.admin.create_topics([NewTopic(topic, config={"cleanup.policy": "compact"})])
        producer = lab.producer()
        producer.begin_transaction()
        producer.send(record(topic, b"a compacted topic takes no record without a key"))
        if flushed:
            with pytest.raises(AbortableError):
                producer.flush(WAIT)
        producer.abort_transaction(WAIT)

        try:
            commit(producer, topic, b"again", key=b"k")
        except AbortableError:
            producer.abort_transaction(WAIT)
            commit(producer, topic, b"again", key=b"k")

        assert lab.values(topic) == [b"again"]

    # --- one holder of a transactional id

    @needs_transactions
    def test_a_new_producer_of_an_id_fences_the_previous_one(self, lab: BackendHarness) -> None:
        """PRD-01, COR-03: what was open is aborted at once, what comes late reaches no reader.

        PRD-02: its state is fatal, so that a zombie cannot recover by mistake: it can only be closed.
        """
        topic, own = lab.topic(), lab.name()
        zombie = lab.open_transaction(topic, b"half", transactional_id=own)

        successor = lab.producer(own)

        commit(successor, topic, b"new")
        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(WAIT)
        assert lab.values(topic) == [b"new"], "a zombie's record is visible"
        for call in CALLS.values():
            with pytest.raises((FatalError, IllegalStateError)):
                call(zombie, topic)
        zombie.close()
        zombie.close()

    @needs_transactions
    def test_a_zombie_that_begins_after_its_successor_started_cannot_commit(self, lab: BackendHarness) -> None:
        """BRK-01: its epoch is too old for every request."""
        topic, own = lab.topic(), lab.name()
        zombie = lab.producer(own)
        lab.producer(own)

        with pytest.raises(ProducerFencedError):
            commit(zombie, topic, b"late")

        assert lab.values(topic) == [], "a zombie's record is visible"

    # --- the order of calls

    @needs_transactions
    def test_a_call_out_of_order_raises_and_changes_nothing(self, lab: BackendHarness) -> None:
        """PRD-01, PRD-02: before init, while ready, inside a transaction, after close."""
        topic = lab.topic()
        producer = lab.backend.producer(lab.name())

        _refused(producer, topic, *(CALLS.keys() - {"init_transactions"}))
        producer.init_transactions(WAIT)
        _refused(producer, topic, *(CALLS.keys() - {"begin_transaction"}))
        producer.begin_transaction()
        _refused(producer, topic, "init_transactions", "begin_transaction")
        producer.send(record(topic, b"kept"))
        producer.commit_transaction(WAIT)
        producer.close()
        _refused(producer, topic, *CALLS)

        assert lab.values(topic) == [b"kept"]

    # --- time

    @needs_transactions
    def test_a_transaction_beyond_its_timeout_is_aborted(self, lab: BackendHarness) -> None:
        """COR-15: it does not block readers for ever; its producer gets the error of a zombie."""
        topic = lab.topic()
        slow, error = _opened(lab, topic)
        lab.write(topic, b"behind")

        assert lab.values(topic) == [b"behind"]  # waits until the transaction is decided
        with pytest.raises(error):
            slow.commit_transaction(WAIT)

    @needs_transactions
    def test_a_timeout_above_the_brokers_maximum_is_refused_at_the_start(self, lab: BackendHarness) -> None:
        """COR-02: not at the first commit."""
        longest = lab.admin.max_transaction_timeout()
        if longest is None:
            pytest.skip(f"backend {lab.backend.name!r} does not tell the broker's maximum")

        with pytest.raises(InvalidTransactionTimeoutError):
            lab.producer(timeout=longest + 1.0)


def _opened(lab: BackendHarness, topic: str) -> tuple[TransactionalProducer, type[EosfwError]]:
    """A producer with a transaction that will time out, and what its commit raises then."""
    slow = lab.producer(timeout=SOON)
    began = lab.runtime.now()
    try:
        slow.begin_transaction()
        slow.send(record(topic, b"slow", partition=0))
        slow.flush(WAIT)
    except EosfwError:
        # Where this machine stood still, the transaction is over before its record is there; else it is a fault.
        if lab.runtime.now() - began < SOON:
            raise
        return slow, EosfwError
    return slow, ProducerFencedError


def _send_and_commit(producer: TransactionalProducer, topic: str, partition: int) -> None:
    # Either call may raise; that depends on what the client already knows about the topic.
    producer.send(record(topic, b"lost", partition=partition))
    producer.commit_transaction(WAIT)


def _refused(producer: TransactionalProducer, topic: str, *names: str) -> None:
    for name in names:
        try:
            CALLS[name](producer, topic)
        except IllegalStateError:
            continue
        except EosfwError as other:
            pytest.fail(f"{name} out of order must raise IllegalStateError; it raised {other!r}")
        pytest.fail(f"{name} out of order must raise IllegalStateError; it went through")
