"""Calls out of order raise and change nothing."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import AbortableError, ClusterUnavailableError, EosfwError, FatalError, IllegalStateError
from eosfw.state.producer_state import TRANSITIONS, ProducerCall, ProducerStateMachine, TransactionManagerState

ILLEGAL = [
    (state, call) for state in TransactionManagerState for call in ProducerCall if call not in TRANSITIONS[state]
]


State = TransactionManagerState


def producer_in(state: TransactionManagerState) -> ProducerStateMachine:
    progress = ProducerStateMachine(transactional=True, lock=ThreadRuntime().lock())
    progress.state = state
    return progress


def test_every_state_refuses_calls_outside_the_table() -> None:
    """PRD-02: raises and changes nothing, and names the calls that are legal."""
    for state, call in ILLEGAL:
        progress = producer_in(state)
        legal = ", ".join(sorted(one.value for one in TRANSITIONS[state]))

        with pytest.raises(IllegalStateError, match=f"; legal: {legal or 'nothing but close'}$"), progress.during(call):
            pytest.fail(f"{call} ran in {state}")
        with pytest.raises(IllegalStateError):
            progress.check(call)

        assert progress.state is state


def test_a_call_that_succeeds_leads_through_its_two_states() -> None:
    """PRD-02: unless another thread has closed the producer meanwhile."""
    for state, calls in TRANSITIONS.items():
        for call, transition in calls.items():
            progress = producer_in(state)
            progress.check(call)
            with progress.during(call):
                assert progress.state is transition.during
            assert progress.state is transition.done

            progress = producer_in(state)
            with progress.during(call):
                progress.close()
            assert progress.state is State.CLOSED


def test_a_producer_without_a_transactional_id_needs_no_initialisation() -> None:
    lock = ThreadRuntime().lock()

    assert ProducerStateMachine(transactional=False, lock=lock).state is State.NOT_TRANSACTIONAL
    assert ProducerStateMachine(transactional=True, lock=lock).state is State.UNINITIALIZED


@pytest.mark.parametrize(
    ("before", "call", "error", "after"),
    [
        (State.IN_TRANSACTION, ProducerCall.COMMIT, AbortableError("no"), State.ABORTABLE_ERROR),
        (State.IN_TRANSACTION, ProducerCall.COMMIT, FatalError("no"), State.FATAL_ERROR),
        (State.IN_TRANSACTION, ProducerCall.COMMIT, ClusterUnavailableError("no"), State.IN_TRANSACTION),
        (State.READY, ProducerCall.FLUSH, AbortableError("no"), State.READY),
        (State.UNINITIALIZED, ProducerCall.INIT, ClusterUnavailableError("no"), State.UNINITIALIZED),
    ],
)
def test_a_call_that_fails_leaves_the_state_that_its_error_demands(
    before: TransactionManagerState, call: ProducerCall, error: EosfwError, after: TransactionManagerState
) -> None:
    """PRD-02: one that may be tried again, the state before it."""
    progress = producer_in(before)

    with pytest.raises(type(error)), progress.during(call):
        raise error

    assert progress.state is after


def test_a_failed_transaction_can_only_be_aborted_and_tells_its_first_error() -> None:
    """PRD-02: not that of an abort which may be tried again."""
    progress = producer_in(State.IN_TRANSACTION)
    progress.fail(AbortableError("the first"))
    progress.fail(AbortableError("its consequence"))
    with pytest.raises(ClusterUnavailableError), progress.during(ProducerCall.ABORT):
        raise ClusterUnavailableError("away")

    for call in set(ProducerCall) - {ProducerCall.ABORT}:
        with pytest.raises(AbortableError, match="the first"):
            progress.check(call)
    with progress.during(ProducerCall.ABORT):
        assert progress.state is State.ABORTING
    assert progress.state is State.READY


def test_every_call_after_a_fatal_error_raises_that_error() -> None:
    """PRD-02: fatal has no exit."""
    for call in ProducerCall:
        progress = producer_in(State.UNINITIALIZED)
        progress.fail(FatalError("gone"))

        with pytest.raises(FatalError, match="gone"), progress.during(call):
            pytest.fail(f"{call} ran")

        assert progress.state is TransactionManagerState.FATAL_ERROR
