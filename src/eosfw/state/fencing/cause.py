"""Why a task lost its producer: clients get one and the same error for several causes."""

from __future__ import annotations

from enum import Enum

from eosfw.state.fencing.task_ownership import TaskOwnership


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
