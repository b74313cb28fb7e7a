"""List the states of a transaction with the moves Kafka allows between them (COR-12)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from eosfw_memory.storage.records.transaction_result import TransactionResult


class TransactionState(IntEnum):
    """The states under which the transaction log knows a transactional id; the numbers are Kafka's."""

    EMPTY = 0
    """Initialised, nothing written yet."""
    ONGOING = 1
    """A partition was added and the end is not decided."""
    PREPARE_COMMIT = 2
    """Decided: it will be committed, whatever happens; markers are being written."""
    PREPARE_ABORT = 3
    """Decided: it will be aborted; markers are being written."""
    COMPLETE_COMMIT = 4
    """Every partition has its commit marker."""
    COMPLETE_ABORT = 5
    """Every partition has its abort marker."""
    DEAD = 6
    """The id expired and is about to be forgotten."""
    PREPARE_EPOCH_FENCE = 7
    """The epoch is being raised to fence the holder of an ongoing transaction; never logged."""

    @property
    def label(self) -> str:
        """The name that DescribeTransactions shows."""
        return "".join(part.capitalize() for part in self.name.split("_"))


_S = TransactionState

TRIGGERS: Mapping[tuple[TransactionState, TransactionState], str] = {
    (_S.EMPTY, _S.EMPTY): "InitProducerId: another holder, or the same one again, before anything was written",
    (_S.EMPTY, _S.ONGOING): "first partition of the first transaction of a holder",
    (_S.EMPTY, _S.PREPARE_ABORT): "EndTxn 5 (abort) of a transaction whose first write may not have arrived",
    (_S.EMPTY, _S.DEAD): "expired: unused for transactional.id.expiration.ms",
    (_S.ONGOING, _S.ONGOING): "one more partition",
    (_S.ONGOING, _S.PREPARE_COMMIT): "EndTxn (commit) by the holder: the commit point (COR-09)",
    (_S.ONGOING, _S.PREPARE_ABORT): "EndTxn (abort) by the holder",
    (_S.ONGOING, _S.PREPARE_EPOCH_FENCE): "InitProducerId by a new holder, or open beyond its timeout; never logged",
    (_S.PREPARE_EPOCH_FENCE, _S.PREPARE_ABORT): "at once, with the raised epoch",
    (_S.PREPARE_COMMIT, _S.COMPLETE_COMMIT): "the last commit marker was written",
    (_S.PREPARE_ABORT, _S.COMPLETE_ABORT): "the last abort marker was written",
    (_S.COMPLETE_COMMIT, _S.EMPTY): "InitProducerId after a commit",
    (_S.COMPLETE_COMMIT, _S.ONGOING): "first partition of the next transaction",
    (_S.COMPLETE_COMMIT, _S.PREPARE_ABORT): "EndTxn 5 (abort) of a transaction whose first write may not have arrived",
    (_S.COMPLETE_COMMIT, _S.DEAD): "expired",
    (_S.COMPLETE_ABORT, _S.EMPTY): "InitProducerId after an abort",
    (_S.COMPLETE_ABORT, _S.ONGOING): "first partition of the next transaction",
    (_S.COMPLETE_ABORT, _S.PREPARE_ABORT): "EndTxn 5 (abort) of a transaction whose first write may not have arrived",
    (_S.COMPLETE_ABORT, _S.DEAD): "expired",
}
"""Every legal move with what causes it; those by EndTxn 5 exist in version 2 of transactions only (KIP-890)."""

PREDECESSORS: Mapping[TransactionState, frozenset[TransactionState]] = {
    target: frozenset(before for before, after in TRIGGERS if after is target) for target in TransactionState
}
"""From which states each state may be entered."""

AT_REST = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})
"""No transaction is open: the next one may begin, or the id be forgotten."""
PREPARED: Mapping[TransactionResult, TransactionState] = {
    TransactionResult.COMMIT: _S.PREPARE_COMMIT,
    TransactionResult.ABORT: _S.PREPARE_ABORT,
}
COMPLETED: Mapping[TransactionState, TransactionState] = {
    _S.PREPARE_COMMIT: _S.COMPLETE_COMMIT,
    _S.PREPARE_ABORT: _S.COMPLETE_ABORT,
}
RESULT: Mapping[TransactionState, TransactionResult] = {
    _S.PREPARE_COMMIT: TransactionResult.COMMIT,
    _S.PREPARE_ABORT: TransactionResult.ABORT,
}


class IllegalTransitionError(Exception):
    """A transaction was asked to move where Kafka's state machine does not lead."""

    def __init__(self, state: TransactionState, target: TransactionState) -> None:
        super().__init__(f"a transaction in state {state.label} cannot move to {target.label}")
        self.state = state
        self.target = target


def advance(state: TransactionState, target: TransactionState) -> TransactionState:
    """Give the target if it may be entered from here, else raise."""
    if state not in PREDECESSORS[target]:
        raise IllegalTransitionError(state, target)
    return target
