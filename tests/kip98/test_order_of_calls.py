"""Calls out of order raise and change nothing."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import FatalError, IllegalStateError
from eosfw.state.producer_state import TRANSITIONS, ProducerCall, ProducerStateMachine, TransactionManagerState

ILLEGAL = [
    (state, call) for state in TransactionManagerState for call in ProducerCall if call not in TRANSITIONS[state]
]


def test_every_state_refuses_calls_outside_the_table() -> None:
    """PRD-02: raises and changes nothing."""
    for state, call in ILLEGAL:
        progress = ProducerStateMachine(transactional=True, lock=ThreadRuntime().lock())
        progress.state = state

        with pytest.raises(IllegalStateError), progress.during(call):
            pytest.fail(f"{call} ran in {state}")

        assert progress.state is state


def test_every_call_after_a_fatal_error_raises_that_error() -> None:
    """PRD-02: fatal has no exit."""
    for call in ProducerCall:
        progress = ProducerStateMachine(transactional=True, lock=ThreadRuntime().lock())
        progress.fail(FatalError("gone"))

        with pytest.raises(FatalError, match="gone"), progress.during(call):
            pytest.fail(f"{call} ran")

        assert progress.state is TransactionManagerState.FATAL_ERROR
