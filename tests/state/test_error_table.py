"""What each error code of Kafka's protocol means to each call, for every client alike."""

from __future__ import annotations

import pytest

from eosfw.error_table import ADD, ADMIN, DELIVERY, END, INIT, PRODUCE, READ, RETRIABLE, error_class
from eosfw.errors import (
    AbortableError,
    ConcurrentTransactionsError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    InvalidProducerEpochError,
    ProducerFencedError,
    RetriableError,
)
from eosfw.kafka_codes import Code

CHANGING = {"init": INIT, "add": ADD, "produce": PRODUCE, "delivery": DELIVERY, "end": END}


@pytest.mark.parametrize("call", CHANGING)
def test_every_call_of_a_fenced_producer_raises_the_fenced_error(call: str) -> None:
    """PRD-08: only the report of a partition leaves the judgement to the coordinator."""
    assert error_class(Code.PRODUCER_FENCED, CHANGING[call]) is ProducerFencedError
    expected = InvalidProducerEpochError if call == "delivery" else ProducerFencedError
    assert error_class(Code.INVALID_PRODUCER_EPOCH, CHANGING[call]) is expected


@pytest.mark.parametrize("call", ["init", "produce", "end"])
def test_a_timeout_without_a_listed_code_is_indefinite(call: str) -> None:
    """The outcome is unknown."""
    silent = {code for code in RETRIABLE if CHANGING[call].named(code) is None}

    assert {error_class(code, CHANGING[call]) for code in silent} == {IndefiniteOutcomeError}
    assert Code.REQUEST_TIMED_OUT in silent


def test_a_request_refused_without_effect_is_retriable() -> None:
    """PRD-02: the coordinator was still busy with an earlier transaction."""
    assert error_class(Code.CONCURRENT_TRANSACTIONS, INIT) is ConcurrentTransactionsError
    assert issubclass(error_class(Code.NOT_CONTROLLER, ADMIN), RetriableError)
    assert issubclass(error_class(Code.NOT_LEADER_OR_FOLLOWER, READ), RetriableError)


def test_a_client_extends_the_error_table_with_its_codes() -> None:
    """A backend's own codes win, and change nothing for others."""
    own = END.extended({-172: IllegalStateError, Code.INVALID_TXN_STATE: AbortableError}, retriable=FatalError)

    assert [error_class(code, own) for code in (-172, Code.INVALID_TXN_STATE)] == [IllegalStateError, AbortableError]
    assert error_class(Code.REQUEST_TIMED_OUT, own) is FatalError
    assert error_class(Code.PRODUCER_FENCED, own) is ProducerFencedError
    assert END.named(-172) is None
