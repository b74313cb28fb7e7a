"""Why a task lost its producer, and what it does then.

Clients get one and the same error for several causes: a timeout in the coordinator looks like a fencing, and a lost
answer leaves the outcome unknown. Only the config topic tells which it is: a superseded task stops, an owner starts
over. An owner does so a few times at most, since two owners of one transactional id would fence each other for ever.
"""

from __future__ import annotations

from enum import Enum

from eosfw.state.fencing.task_ownership import TaskOwnership

MOST_LOSSES = 3
"""An owner that loses its producer more often within one generation fails."""


class ProducerLossDecision(Enum):
    """What to do after the producer was discarded."""

    STOP_SUPERSEDED = "stop-superseded"
    START_OVER = "start-over"
    FAIL = "fail"


def decide_after_producer_loss(now: TaskOwnership, losses: int) -> ProducerLossDecision:
    """Decide by the ownership now and the number of losses in this generation, this one included."""
    if now is not TaskOwnership.OWNER:
        return ProducerLossDecision.STOP_SUPERSEDED
    return ProducerLossDecision.START_OVER if losses <= MOST_LOSSES else ProducerLossDecision.FAIL


class FencingCause(Enum):
    """The cause, in words for users."""

    NEWER_GENERATION = "a newer generation of its connector fenced it"
    TRANSACTION_TIMEOUT = "its transaction was open for longer than its timeout, so the coordinator aborted it"
    OTHER_CLIENT = "another client, or an administrator, initialised its transactional id"
    ID_EXPIRED = "the coordinator forgot its transactional id, which had not been used for a long time"


def fencing_cause(ownership: TaskOwnership, *, expired: bool, taken: bool, overran: bool) -> FencingCause:
    """The cause, by the ownership now, what the coordinator says of the id, and what the task knows.

    `expired`: the coordinator does not know the id. `taken`: it knows a later holder. `overran`: the task's transaction
    was open for its whole timeout. Within its timeout no coordinator aborts a transaction, so then somebody else
    initialised the id, even where a client cannot ask the coordinator.
    """
    if ownership is not TaskOwnership.OWNER:
        return FencingCause.NEWER_GENERATION
    if expired:
        return FencingCause.ID_EXPIRED
    return FencingCause.OTHER_CLIENT if taken or not overran else FencingCause.TRANSACTION_TIMEOUT
