"""Rare states of a query under faults, and how its history tells that one was reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from eosfw.observe import StepEvent, TaskStep
from pytest_eos.simulation.rare_states import RARE_STATES, Reached, between
from pytest_eos.simulation.seeds import Played


def _outcome(outcome: str) -> Reached:
    return lambda _, events: any(event.detail.get("outcome") == outcome for event in events)


def _repeated(step: TaskStep) -> Reached:
    def reached(_: Played, events: Sequence[StepEvent]) -> bool:
        times = Counter((event.task, event.transaction) for event in events if event.step is step)
        return max(times.values(), default=0) > 1

    return reached


QUERY_STATES: Final[Mapping[str, Reached]] = {
    "a batch came that was published before": _outcome("skipped"),
    "a task ran more than once": _repeated(TaskStep.WRITE_BATCH),
    "two attempts of a task have staged or written all rows": _repeated(TaskStep.STAGED_BATCH),
    "a batch was published more than once, until one commit counted": _repeated(TaskStep.COMMIT_BATCH),
    "an id was taken over before a commit": between(
        TaskStep.PUBLISH_BATCH, TaskStep.FENCE_BATCH, TaskStep.COMMIT_BATCH
    ),
    "an id was taken over while a commit was in flight": between(
        TaskStep.COMMIT_BATCH, TaskStep.FENCE_BATCH, TaskStep.COMMITTED_BATCH
    ),
    **{name: reached for name, reached in RARE_STATES.items() if "EndTxn" in name or "markers" in name},
}
"""Every rare state by its name."""
