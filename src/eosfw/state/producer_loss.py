"""Decide what a task does that lost its producer.

A coordinator's timeout looks like a fencing, and a lost answer leaves the outcome open. Only the config log can tell:
a superseded task stops for good, the rightful owner starts over once more, and nobody does so for ever, since that is
how two owners fence each other.
"""

from __future__ import annotations

from enum import Enum

from eosfw.state.task_ownership import TaskOwnership

MOST_LOSSES = 3
"""An owner that loses its producer more often within one generation fails."""


class ProducerLossDecision(Enum):
    """What to do once the producer is discarded."""

    STOP_SUPERSEDED = "stop-superseded"
    START_OVER = "start-over"
    FAIL = "fail"


def decide_after_producer_loss(now: TaskOwnership, losses: int) -> ProducerLossDecision:
    """Choose by how the task stands and how often it lost a producer in this generation, this time included."""
    if now is not TaskOwnership.OWNER:
        return ProducerLossDecision.STOP_SUPERSEDED
    return ProducerLossDecision.START_OVER if losses <= MOST_LOSSES else ProducerLossDecision.FAIL
