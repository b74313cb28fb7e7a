"""Known bad controls: bugs that are planted are found, so that a run without an alarm means something."""

from __future__ import annotations

import pytest
from tests.simulation.connectors import by_hand, failing, played
from tests.simulation.planted_bugs import (
    BUGS,
    acknowledge_before_fsync,
    check_no_ownership,
    commit_offsets_first,
    skip_fencing,
    take_requests_from_the_future,
)

from pytest_eos.simulation.fault_plan import PlannedFault, draw_plan
from pytest_eos.simulation.seeds import shrink

SEEDS = 400
"""In so many seeds each bug has to be found; most of them are in fewer than 50."""
TAKE_OVER = PlannedFault("take-over", "any", 5, 15.0, "1", step="begin")


def test_skipped_fencing_is_found_by_a_worker_that_stands_still_before_it_begins(tmp_path, monkeypatch):
    """SIM-01, FEN-01: the plan that shows nothing on what is shipped shows duplicates without fencing."""
    plan = by_hand(TAKE_OVER, seed=1)
    assert played(plan, tmp_path).failure is None

    skip_fencing(monkeypatch)
    found = played(plan, tmp_path)

    assert "2 duplicates" in str(found.failure)


def test_offsets_committed_before_their_records_are_found_and_shrunk(tmp_path, monkeypatch):
    """SIM-01, SIM-04, TXN-02: no fault has to lose records, since the history shows two transactions for each poll."""
    commit_offsets_first(monkeypatch)

    found = failing([draw_plan(seed) for seed in range(1, 30)], tmp_path)
    assert found is not None
    best = shrink(found, lambda plan: played(plan, tmp_path), most=10)

    assert "boundary-violation: " in str(best.failure)
    assert not best.plan.active


def test_a_task_that_does_not_look_whether_it_is_superseded_is_found_by_its_history(tmp_path, monkeypatch):
    """SIM-01, FEN-10: its records are all right, and nobody would fence it again."""
    plan = by_hand(PlannedFault("take-over", "any", 1, 15.0, "1", step="init-producer"))
    assert played(plan, tmp_path).failure is None

    check_no_ownership(monkeypatch)
    found = played(plan, tmp_path)

    assert "late-zombie: " in str(found.failure)


def test_requests_of_a_worker_whose_clock_is_far_ahead_must_not_be_taken(tmp_path, monkeypatch):
    """SIM-01, SEC-03: they are refused until its clock is right, which no record shows."""
    plan = by_hand(PlannedFault("clock", "c", 1, 15.0, "+70"))
    assert played(plan, tmp_path).failure is None

    take_requests_from_the_future(monkeypatch)
    found = played(plan, tmp_path)

    assert "wrong-signature: " in str(found.failure)


def test_answers_that_do_not_wait_for_the_disk_are_found_by_a_power_cut(tmp_path, monkeypatch):
    """SIM-01: what fsync had not confirmed is lost, torn or reordered, and then it must not have been acknowledged."""
    plan = by_hand(PlannedFault("power-cut", "after-ongoing", 9, 3.0), seed=2)
    shipped = played(plan, tmp_path)
    assert shipped.failure is None
    assert shipped.fired == {0}

    acknowledge_before_fsync(monkeypatch)
    found = played(plan, tmp_path)

    assert "lost-after-crash: " in str(found.failure)


@pytest.mark.nightly
@pytest.mark.parametrize("plant", BUGS.values(), ids=BUGS)
def test_each_planted_bug_is_found_in_few_seeds(tmp_path, monkeypatch, plant):
    """SIM-01."""
    plant(monkeypatch)

    assert failing([draw_plan(seed) for seed in range(1, SEEDS)], tmp_path) is not None
