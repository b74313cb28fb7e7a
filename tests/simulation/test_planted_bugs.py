"""Known bad controls: bugs that are planted are found, so that a run without an alarm means something."""

from __future__ import annotations

import re

import pytest
from tests.simulation.connectors import by_hand, failing, played
from tests.simulation.planted_bugs import (
    BUGS,
    acknowledge_before_fsync,
    check_no_ownership,
    commit_offsets_first,
    count_starts_in_place,
    overlook_a_full_disk,
    read_without_checksums,
    skip_fencing,
    take_damage_for_a_torn_line,
    take_requests_from_the_future,
    try_fsync_again,
)

from pytest_eos.simulation.fault_plan import PlannedFault, draw_plan
from pytest_eos.simulation.seeds import shrink

SEEDS = 400
"""In so many seeds each bug has to be found; most of them are in fewer than 50."""
INTERLEAVINGS = 12
"""In so many interleavings of one fault a bug has to be found that hangs on it; most of them are in the first three."""


@pytest.mark.parametrize(
    ("plant", "fault", "shown"),
    [
        (skip_fencing, PlannedFault("take-over", "any", 6, 15.0, "1", step="begin"), r"[24] duplicates"),
        (check_no_ownership, PlannedFault("take-over", "any", 1, 15.0, "1", step="init-producer"), r"late-zombie: "),
        (take_requests_from_the_future, PlannedFault("clock", "c", 1, 15.0, "+70"), r"wrong-signature: "),
        (
            acknowledge_before_fsync,
            PlannedFault("power-cut", "after-ongoing", 5, 3.0),
            r"forgotten-answer: ",
        ),
        (count_starts_in_place, PlannedFault("recovery-cut", "before-marker", 4, 0.0, "3"), "incarnation: cannot"),
        (try_fsync_again, PlannedFault("disk-error", "fsync", 10, 3.0), "damaged|CORRUPT"),
        (
            read_without_checksums,
            PlannedFault("wrong-bytes", "before-append", 12, 0.0, "log: zeros"),
            "not read as it was written",
        ),
        (
            take_damage_for_a_torn_line,
            PlannedFault("wrong-bytes", "after-append", 2, 0.0, "topics.journal: zeros"),
            "is not read as it was written|belongs to no topic",
        ),
        (
            overlook_a_full_disk,
            PlannedFault("disk-full", "write", 60, 0.5),
            r"lost-after-crash: |missing|switch|forgotten-answer: ",
        ),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_a_planted_bug_is_found_by_its_fault_which_shows_nothing_on_what_is_shipped(tmp_path, plant, fault, shown):
    """SIM-01, FEN-01, FEN-10, SEC-03: the records of a late zombie are all right, and nobody would fence it again."""
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        found = failing([by_hand(fault, seed=seed) for seed in range(1, INTERLEAVINGS)], tmp_path)
    assert found is not None
    assert re.search(shown, str(found.failure))

    shipped = played(found.plan, tmp_path)

    assert shipped.failure is None
    assert shipped.fired == {0}


def test_offsets_committed_before_their_records_are_found_and_shrunk(tmp_path, monkeypatch):
    """SIM-01, SIM-04, TXN-02: no fault has to lose records, since the history shows two transactions for each poll."""
    commit_offsets_first(monkeypatch)

    found = failing([draw_plan(seed) for seed in range(1, 30)], tmp_path)
    assert found is not None
    best = shrink(found, lambda plan: played(plan, tmp_path), most=10)

    assert "boundary-violation: " in str(best.failure)
    assert not best.plan.active


@pytest.mark.nightly
@pytest.mark.parametrize("plant", BUGS.values(), ids=BUGS)
def test_each_planted_bug_is_found_in_few_seeds(tmp_path, monkeypatch, plant):
    """SIM-01."""
    plant(monkeypatch)

    assert failing([draw_plan(seed) for seed in range(1, SEEDS)], tmp_path) is not None
