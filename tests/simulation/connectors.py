"""What simulated tests run: a connector that counts, and plans that are made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.pytest_eos.counter import CounterConnector

from pytest_eos.simulation.fault_plan import FaultPlan, PlannedFault
from pytest_eos.simulation.harness import SimulationHarness
from pytest_eos.simulation.seeds import Body, Played, play
from pytest_eos.simulation.trace import Trace

PROPERTIES = {"streams": 3, "until": 16, "batch": 2, "tasks.max": 3}


def count(eos: SimulationHarness) -> None:
    """Run the connector that counts."""
    eos.run(CounterConnector, PROPERTIES)


def by_hand(
    *faults: PlannedFault, seed: int = 1, workers: int = 3, settled: bool = True, poll_seconds: float = 0.2
) -> FaultPlan:
    """A plan with these faults."""
    return FaultPlan(seed, workers, settled, poll_seconds, faults)


def played(plan: FaultPlan, folder: Path, body: Body = count, *, keep: bool = False) -> Played:
    """Play a plan with a connector that counts."""
    return play(plan, body, "tests/simulation", folder, Trace(keep=keep))


def failing(plans: Sequence[FaultPlan], folder: Path) -> Played | None:
    """The first of these plans that fails."""
    for plan in plans:
        found = played(plan, folder)
        if found.failure is not None:
            return found
    return None
