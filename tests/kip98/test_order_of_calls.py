"""Calls out of order raise and change nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import FatalError, IllegalStateError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, TransactionalProducer
from eosfw.state.producer_state import TRANSITIONS, ProducerCall, ProducerStateMachine, TransactionManagerState
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

CALLS: dict[str, Callable[[TransactionalProducer, str], None]] = {
    "init": lambda producer, _: producer.init_transactions(WAIT),
    "begin": lambda producer, _: producer.begin_transaction(),
    "send": lambda producer, topic: producer.send(record(topic, b"early")),
    "send_offsets": lambda producer, topic: producer.send_offsets(
        {TopicPartition(topic, 0): 1}, ConsumerGroupMetadata("early"), WAIT
    ),
    "commit": lambda producer, _: producer.commit_transaction(WAIT),
    "abort": lambda producer, _: producer.abort_transaction(WAIT),
}


def refuse(producer: TransactionalProducer, topic: str, *names: str) -> None:
    for name in names:
        with pytest.raises(IllegalStateError):
            CALLS[name](producer, topic)


def test_each_illegal_call_raises_and_leaves_the_transaction_unchanged(lab: BackendHarness) -> None:
    """PRD-02, PRD-01: before init, while ready, inside a transaction, after close."""
    topic = lab.topic()
    producer = lab.backend.producer(lab.name())

    refuse(producer, topic, "begin", "send", "send_offsets", "commit", "abort")
    producer.init_transactions(WAIT)
    refuse(producer, topic, "init", "send", "send_offsets", "commit", "abort")
    producer.begin_transaction()
    refuse(producer, topic, "init", "begin")
    producer.send(record(topic, b"kept"))
    producer.commit_transaction(WAIT)
    producer.close()
    refuse(producer, topic, *CALLS)

    assert lab.values(topic) == [b"kept"]


ILLEGAL = [
    (state, call) for state in TransactionManagerState for call in ProducerCall if call not in TRANSITIONS[state]
]


@pytest.mark.parametrize(("state", "call"), ILLEGAL)
def test_every_state_refuses_calls_outside_the_table(state: TransactionManagerState, call: ProducerCall) -> None:
    """PRD-02: raises and changes nothing."""
    progress = ProducerStateMachine(transactional=True, lock=ThreadRuntime().lock())
    progress.state = state

    with pytest.raises(IllegalStateError), progress.during(call):
        pytest.fail("the call ran")

    assert progress.state is state


@pytest.mark.parametrize("call", list(ProducerCall))
def test_every_call_after_a_fatal_error_raises_that_error(call: ProducerCall) -> None:
    """PRD-02: fatal has no exit."""
    progress = ProducerStateMachine(transactional=True, lock=ThreadRuntime().lock())
    progress.fail(FatalError("gone"))

    with pytest.raises(FatalError, match="gone"), progress.during(call):
        pytest.fail("the call ran")

    assert progress.state is TransactionManagerState.FATAL_ERROR
