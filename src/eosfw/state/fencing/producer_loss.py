"""What a task does after it lost its producer.

A timeout in the coordinator looks like a fencing, and a lost answer leaves the outcome unknown. Only the config topic
tells which it is: a superseded task stops, an owner starts over. An owner does so a few times at most, since two
owners of one transactional id would fence each other for ever.
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
