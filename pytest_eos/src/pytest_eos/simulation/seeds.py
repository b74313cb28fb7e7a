"""Play seeds, and shrink the plan of one that fails."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from eosfw.text import quantity
from pytest_eos.simulation.fault_plan import FaultPlan
from pytest_eos.simulation.harness import SimulationHarness, simulated_cluster, simulation_settings
from pytest_eos.simulation.randomness import seeded
from pytest_eos.simulation.trace import Trace
from pytest_eos.simulation.unsupported import NotSimulatedError, refusing

_NO_FAILURES = (
    NotSimulatedError,
    pytest.UsageError,
    KeyboardInterrupt,
    pytest.exit.Exception,
    pytest.skip.Exception,
)
"""What ends a simulated test at once: no fault of the connector."""
Body = Callable[[SimulationHarness], object]
"""What is played: it calls `eos.run`."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one plan."""

    plan: FaultPlan
    trace: Trace
    fired: frozenset[int]
    harness: SimulationHarness
    failure: BaseException | None

    @property
    def text(self) -> str:
        """What failed, in one line."""
        return "" if self.failure is None else str(self.failure).partition("\n")[0]


def play(plan: FaultPlan, body: Body, nodeid: str, folder: Path, trace: Trace | None = None) -> Played:
    """Play a plan; what the test or the verdict raises is kept, wrong use of the marker is raised."""
    trace, failure = trace or Trace(), None
    with simulated_cluster(plan, trace) as cluster, seeded(plan.seed, cluster.runtime), refusing() as refusals:
        harness = SimulationHarness(cluster, simulation_settings(nodeid, folder, plan), plan, trace)
        harness.refusals = refusals
        with harness:
            try:
                body(harness)
            except _NO_FAILURES:
                raise
            except (Exception, pytest.fail.Exception) as why:  # noqa: BLE001 - it is reported with its seed
                failure = why
        fired = frozenset(() if harness.execution is None else harness.execution.fired())
    return Played(plan, trace, fired, harness, failure)


def shrink(failed: Played, again: Callable[[FaultPlan], Played], most: int = 60) -> Played:
    """The plan with the fewest faults that still fails: faults are left out one by one, at most `most` runs."""
    best = failed
    candidate = again(best.plan.keeping(sorted(best.fired)))
    if candidate.failure is not None:
        best = candidate
    runs, tried = 1, set[int]()
    while runs < most and (left := [number for number in best.plan.active if number not in tried]):
        number = left[0]
        tried.add(number)
        candidate = again(best.plan.keeping([one for one in best.plan.active if one != number]))
        runs += 1
        if candidate.failure is not None:
            best = candidate
            tried.clear()
    return best


def report(best: Played, again: str, failed: Played) -> str:
    """What is shown of a seed that failed: its faults, its error, the command `again` that plays it, with its token."""
    faults = [f"  {number}: {fault}" for number, fault in best.plan.active.items()] or ["  none"]
    who, what = quantity(best.plan.workers, "worker"), quantity(len(failed.plan.faults), "fault")
    lines = [
        f"seed {failed.plan.seed} failed with {who}; of its {what} these are enough:",
        *faults,
        f"play it again: {again}{best.plan.token}",
        "",
        "".join(_error(best.failure)).rstrip(),
    ]
    return "\n".join(lines)


def _error(failure: BaseException | None) -> Sequence[str]:
    if isinstance(failure, AssertionError | pytest.fail.Exception):
        return [str(failure)]
    return [] if failure is None else traceback.format_exception(failure)
