"""The table of transaction states."""

from __future__ import annotations

import itertools

import pytest

from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import IllegalTransitionError, TransactionState, advance

S = TransactionState

KAFKA_NUMBERS = {
    "Empty": 0,
    "Ongoing": 1,
    "PrepareCommit": 2,
    "PrepareAbort": 3,
    "CompleteCommit": 4,
    "CompleteAbort": 5,
    "Dead": 6,
    "PrepareEpochFence": 7,
}
LEGAL = {
    (S.EMPTY, S.EMPTY),
    (S.EMPTY, S.ONGOING),
    (S.EMPTY, S.PREPARE_ABORT),
    (S.EMPTY, S.DEAD),
    (S.ONGOING, S.ONGOING),
    (S.ONGOING, S.PREPARE_COMMIT),
    (S.ONGOING, S.PREPARE_ABORT),
    (S.ONGOING, S.PREPARE_EPOCH_FENCE),
    (S.PREPARE_EPOCH_FENCE, S.PREPARE_ABORT),
    (S.PREPARE_COMMIT, S.COMPLETE_COMMIT),
    (S.PREPARE_ABORT, S.COMPLETE_ABORT),
    *itertools.product((S.COMPLETE_COMMIT, S.COMPLETE_ABORT), (S.EMPTY, S.ONGOING, S.PREPARE_ABORT, S.DEAD)),
}


def test_states_have_the_names_and_numbers_of_kafka():
    """COR-12."""
    assert {state.label: int(state) for state in TransactionState} == KAFKA_NUMBERS


def test_transaction_states_have_exactly_kafkas_transitions():
    """COR-12."""
    for state, target in itertools.product(TransactionState, repeat=2):
        if (state, target) in LEGAL:
            assert advance(state, target) is target
        else:
            with pytest.raises(IllegalTransitionError, match=f"{state.label} cannot move to {target.label}"):
                advance(state, target)


def test_an_illegal_state_transition_changes_nothing():
    """COR-12."""
    metadata = TransactionMetadata("t", 7, 3, 60_000, S.EMPTY)
    before = repr(metadata)

    with pytest.raises(IllegalTransitionError):
        metadata.transition_to(S.PREPARE_COMMIT, epoch=4)

    assert repr(metadata) == before
