"""Simulated queries: drivers, executors, attempts and the broker fail as a seed draws; each row is there once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.simulation.connectors import by_hand

from eosfw.observe import TaskStep
from pytest_eos.environment.config.options import SETTINGS
from pytest_eos.simulation.fault_plan import PlannedFault
from pytest_eos.simulation.seeds import report, shrink

from .faults import QUERY, SparkFault, draw_plan
from .planted_bugs import BUGS, Plant
from .queries import MODES, played

SEEDS, NIGHTLY_SEEDS = 5, 2_000
BUG_SEEDS = 200
"""In so many seeds each planted bug has to be found; most of them are in fewer than 20."""
INTERLEAVINGS = 12
"""In so many interleavings of one fault a bug has to be found that hangs on it; most of them are in the first."""
TRACED = 10
"""A seed with a second driver, a speculated task and restarts of the broker."""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(NIGHTLY_SEEDS, marks=pytest.mark.nightly)])
def test_each_row_of_a_query_is_there_once_whatever_the_seed_draws(
    tmp_path: Path, request: pytest.FixtureRequest, mode: str, seeds: int
) -> None:
    """SIM-07, SPK-01: one transaction for each batch, or for each partition of one; nothing stays open or hangs."""
    first = request.config.stash[SETTINGS].seed
    for seed in range(first, first + seeds):
        found = played(draw_plan(seed), tmp_path, mode)
        if found.failure is not None:
            best = shrink(found, lambda plan: played(plan, tmp_path, mode))
            pytest.fail(report(best, f"python -m tests.spark.simulation.play {mode} ", found), pytrace=False)


# --- the same seed


def test_a_seed_of_a_query_has_the_same_trace_each_time(tmp_path: Path) -> None:
    """SIM-02, SIM-07: each row is right in either, and so is each turn."""
    first, again = (played(draw_plan(TRACED), tmp_path, "shared", keep=True) for _ in range(2))

    assert first.failure is None
    assert first.trace.lines == again.trace.lines
    assert played(draw_plan(TRACED + 1), tmp_path, "shared").trace.digest != first.trace.digest


@pytest.mark.nightly
@pytest.mark.parametrize("mode", MODES)
def test_a_query_in_a_process_with_another_hash_seed_has_the_same_trace(tmp_path: Path, mode: str) -> None:
    """SIM-02, SIM-07."""
    printed = subprocess.run(
        [sys.executable, "-m", "tests.spark.simulation.play", mode, str(TRACED)],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    assert printed.split() == [str(TRACED), played(draw_plan(TRACED), tmp_path, mode).trace.digest]


# --- what happens


def test_all_kinds_of_faults_of_a_query_are_drawn() -> None:
    """SIM-03, SIM-07."""
    assert {fault.kind for seed in range(100) for fault in draw_plan(seed).faults} == set(QUERY.kinds)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "fault",
    [
        SparkFault("take-over", "any", 2, 15.0, step="batch:commit"),
        SparkFault("speculation", "any", 3, 15.0, step="batch:write"),
        SparkFault("broken-rows", "any", 2, step="batch:write"),
        PlannedFault("crash", "any", 2, 3.0, step="batch:committed"),
    ],
    ids=lambda fault: fault.kind,
)
def test_a_fault_of_spark_happens_and_the_rows_are_right_all_the_same(
    tmp_path: Path, mode: str, fault: PlannedFault
) -> None:
    """SIM-07, SPK-01."""
    found = played(by_hand(fault, poll_seconds=0.0), tmp_path, mode)

    assert found.failure is None
    assert found.fired == {0}
    # Each of them has something done again: of four batches, each with two tasks.
    steps = [event.step for event in found.harness.history.events()]
    assert steps.count(TaskStep.WRITE_BATCH) > 8 or steps.count(TaskStep.FENCE_BATCH) > 1


# --- known bad controls


@pytest.mark.parametrize(("mode", "plant", "fault"), BUGS.values(), ids=BUGS)
def test_a_bug_that_is_planted_in_the_sink_is_found_by_its_fault_which_shows_nothing_on_what_is_shipped(
    tmp_path: Path, mode: str, plant: Plant, fault: PlannedFault
) -> None:
    """SIM-07, SPK-01, SPK-05, SPK-07: so that a run without an alarm means something."""
    plans = [by_hand(fault, seed=seed, poll_seconds=0.0) for seed in range(1, INTERLEAVINGS)]
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        tried = (played(plan, tmp_path, mode) for plan in plans)
        found = next((each for each in tried if each.failure is not None), None)
    assert found is not None

    shipped = played(found.plan, tmp_path, mode)

    assert shipped.failure is None
    assert shipped.fired == {0}


@pytest.mark.nightly
@pytest.mark.parametrize(("mode", "plant"), [bug[:2] for bug in BUGS.values()], ids=BUGS)
def test_each_bug_that_is_planted_in_the_sink_is_found_in_few_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, mode: str, plant: Plant
) -> None:
    """SIM-07."""
    plant(monkeypatch)
    first = request.config.stash[SETTINGS].seed

    assert any(played(draw_plan(seed), tmp_path, mode).failure for seed in range(first, first + BUG_SEEDS))
