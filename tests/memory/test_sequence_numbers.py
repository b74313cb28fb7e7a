"""No record of a transaction gets the sequence numbers of one that the broker may have stored."""

from __future__ import annotations

from typing import Any

import pytest
from tests.memory.conftest import RUNTIME

from eosfw.errors import (
    AbortableError,
    ConcurrentTransactionsError,
    OutOfOrderSequenceError,
    RecordTooLargeError,
)
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.records import ProducerBatch
from eosfw_memory.client.producer.record_accumulator import PartitionAccumulator
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.faults import Drop, Fail, Lose
from eosfw_memory.server.protocol.handlers.records import produce
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, commit, record


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_record_after_an_abort_is_not_taken_for_one_that_was_stored_before(lab: BackendHarness, version: str) -> None:
    """BRK-02: of one request a batch was refused, another stored, whose sequence numbers are used up."""
    strict, topic = lab.topic(config={"max.message.bytes": "1000"}), lab.topic()
    producer = lab.producer(properties={"eosfw.transaction.version": version})
    producer.begin_transaction()
    producer.send(record(topic, b"first"))
    producer.flush(WAIT)
    producer.send(record(strict, b"x" * 2000))
    producer.send(record(topic, b"aborted"))
    with pytest.raises(RecordTooLargeError):
        producer.flush(WAIT)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert lab.values(topic) == [b"kept"]


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_record_after_an_abort_is_not_taken_for_one_whose_outcome_is_unknown(
    direct: BackendHarness, own: EmbeddedCluster, version: str
) -> None:
    """BRK-02: the answer to a batch was lost, and when it came again it was refused, for another reason."""
    topic = direct.topic()
    producer = direct.producer(properties={"eosfw.transaction.version": version})
    commit(producer, topic, b"first")
    own.faults.add(Lose("Produce"))
    own.faults.add(Fail("Produce", code="TOPIC_AUTHORIZATION_FAILED", nth=2))
    producer.begin_transaction()
    producer.send(record(topic, b"aborted"))
    with pytest.raises(AbortableError):
        producer.flush(WAIT)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert direct.values(topic) == [b"first", b"kept"]


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_record_after_an_abort_is_not_taken_for_one_whose_broker_failed(
    direct: BackendHarness, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BRK-02: an UnknownServerError does not say whether the batch was stored before."""
    topic = direct.topic()
    producer = direct.producer(properties={"eosfw.transaction.version": version})
    commit(producer, topic, b"first")
    append = produce._appended

    def append_and_fail(*given: Any) -> None:
        append(*given)
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)

    producer.begin_transaction()
    with monkeypatch.context() as failing:
        failing.setattr(produce, "_appended", append_and_fail)
        producer.send(record(topic, b"aborted"))
        with pytest.raises(AbortableError):
            producer.flush(WAIT)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert direct.values(topic) == [b"first", b"kept"]


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("lost", [Drop, Lose])
def test_a_batch_that_is_too_large_goes_in_smaller_ones_although_an_answer_was_lost(
    direct: BackendHarness, own: EmbeddedCluster, version: str, lost: type[Drop | Lose]
) -> None:
    """PRD-07: a connection that breaks while the broker refuses it does not fail the transaction."""
    topic = direct.topic(config={"max.message.bytes": "1000"})
    producer = direct.producer(properties={"eosfw.transaction.version": version})
    values = [b"%03d" % number * 20 for number in range(100)]
    own.faults.add(lost("Produce"))

    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, values, partition=0))
    producer.commit_transaction(WAIT)

    assert direct.values(topic) == values


@pytest.mark.parametrize("version", ["1", "2"])
def test_halves_of_a_batch_that_was_stored_whole_are_not_committed(
    direct: BackendHarness, own: EmbeddedCluster, version: str
) -> None:
    """BRK-02: the limit of its topic was lowered between the attempt whose answer was lost and the next one."""
    topic, name = direct.topic(), direct.name()
    producer = direct.producer(name, properties={"eosfw.transaction.version": version})
    own.faults.add(Lose("Produce"))
    own.faults.add(Fail("Produce", code="MESSAGE_TOO_LARGE", nth=2))

    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"a", b"b"], partition=0))
    with pytest.raises(OutOfOrderSequenceError):
        producer.commit_transaction(WAIT)
    commit(direct.producer(name), topic, b"kept")

    assert direct.values(topic) == [b"kept"]


def test_an_abort_that_is_repeated_still_gives_no_sequence_number_twice(
    direct: BackendHarness, own: EmbeddedCluster
) -> None:
    """BRK-02, version 1: the first one ended the transaction, and got no higher epoch in its time."""
    topic = direct.topic()
    producer = direct.producer(properties={"eosfw.transaction.version": "1"})
    own.faults.add(Lose("Produce"))
    own.faults.add(Fail("Produce", code="TOPIC_AUTHORIZATION_FAILED", nth=2))
    producer.begin_transaction()
    producer.send(record(topic, b"aborted"))
    busy = own.faults.add(Fail("InitProducerId", code="CONCURRENT_TRANSACTIONS", times=1_000))
    with pytest.raises(ConcurrentTransactionsError):
        producer.abort_transaction(0.1)
    own.faults.remove(busy)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert direct.values(topic) == [b"kept"]


def test_in_a_transaction_records_behind_a_refused_batch_keep_their_sequence_numbers() -> None:
    """KAFKA-14034: it may have arrived; with its numbers other records would be taken for it, and lost."""
    holder, lock = ProducerIdAndEpoch(7, 0), RUNTIME.lock()
    queue = PartitionAccumulator(TopicPartition("t", 0), holder, 1_000_000, transactional=True, lock=lock)
    for value in (b"refused", b"behind"):
        queue.add(ProducerBatch("t", [value]), 0, None)
        queue.close_batch()
    sent = [(one.data, one.base_sequence) for one in queue.closed_batches]

    queue.fail_first(AbortableError("no answer"))

    assert [(one.data, one.base_sequence) for one in queue.closed_batches] == sent
