"""What a seed draws for a simulated query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pytest_eos.simulation.fault_plan import (
    ZOMBIE_SECONDS,
    Draw,
    FaultPlan,
    PlannedFault,
    System,
    Targets,
    clock,
    on_request,
    on_worker,
    recovery_cut,
    restart,
)

from .cluster import DRIVER

REQUESTS: Final = (
    "EndTxn",
    "Produce",
    "InitProducerId",
    "AddPartitionsToTxn",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "FindCoordinator",
    "CreateTopics",
    "any",
)
STEPS: Final = (
    "batch:commit",
    "batch:write",
    "batch:publish",
    "batch:staged",
    "batch:committed",
    "batch:read-token",
    "batch:fence",
)
TASK_STEPS: Final = ("batch:write", "batch:staged")
_LATEST: Final = 6
_TEXTS: Final[Mapping[str, str]] = {
    "take-over": "{fault.target} stands still {fault.moment}, for {fault.seconds:g} s, and another driver goes on from "
    "the checkpoint meanwhile",
    "speculation": "an executor stands still {fault.moment}, for {fault.seconds:g} s, and its task is run by another "
    "one, too",
    "broken-rows": "the rows of a task break off {fault.moment}",
}


@dataclass(frozen=True, slots=True)
class SparkFault(PlannedFault):
    """A fault that only Spark has."""

    def __str__(self) -> str:
        return _TEXTS[self.kind].format(fault=self)


def _at_step(kind: str, draw: Draw, targets: Targets) -> PlannedFault:
    steps = targets.steps if kind == "take-over" else TASK_STEPS
    seconds = 0.0 if kind == "broken-rows" else ZOMBIE_SECONDS[draw.below(len(ZOMBIE_SECONDS))]
    return SparkFault(kind, "any", draw.early(_LATEST), seconds, step=steps[draw.below(len(steps))])


def _cut(kind: str, draw: Draw, targets: Targets) -> PlannedFault:
    drawn = on_worker(kind, draw, targets)
    # Drivers and executors find each other in any case.
    return replace(drawn, detail="both") if drawn.detail == "workers" else drawn


QUERY: Final = System(
    sizes=(2, 2, 3),
    targets=lambda executors: Targets((DRIVER, DRIVER, *"abc"[:executors]), REQUESTS, STEPS, 12, 500),
    kinds={
        "delay": on_request,
        "drop": on_request,
        "lose": on_request,
        "repeat": on_request,
        "broker-restart": restart,
        "partition": _cut,
        "pause": on_worker,
        "crash": on_worker,
        "take-over": _at_step,
        "speculation": _at_step,
        "broken-rows": _at_step,
        "clock": clock,
        "power-cut": restart,
        "recovery-cut": recovery_cut,
    },
)
"""A query with its drivers and executors."""


def draw_plan(seed: int) -> FaultPlan:
    """The plan of a seed."""
    return QUERY.draw_plan(seed)
