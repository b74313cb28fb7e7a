"""Every anomaly that the checker knows is named when it is there, and never when it is not (CHK-01, CHK-02)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import near_misses
from checker.history_edits import REQUEST, Plant, requested
from checker.model_history import model_history, numbered
from checker.near_misses import NEAR_MISSES, near_miss
from checker.planted import PLANTS, crashed, planted
from checker.planted_in_connectors import BOUNDARIES
from eosfw.checker import ALL_CHECKS, Judgement, check_history

SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(max_examples=50)
def test_a_connector_that_behaves_has_no_anomaly(seed: int) -> None:
    checked = check_history(model_history(seed))
    assert checked.anomalies == ()
    assert checked.judgement is Judgement.GOOD


@pytest.mark.parametrize("name", PLANTS)
@given(seed=SEEDS)
@settings(max_examples=6)
def test_an_anomaly_is_named_with_a_short_witness_in_the_order_of_time(name: str, seed: int) -> None:
    checked = check_history(planted(name, model_history(seed)))
    found = [each for each in checked.anomalies if each.name == name]
    assert found, [each.name for each in checked.anomalies]
    assert checked.judgement is Judgement.ANOMALIES
    numbers = [event.i for event in found[0].witness]
    assert 1 <= len(numbers) <= 10
    assert numbers == sorted(numbers)


@pytest.mark.parametrize("name", NEAR_MISSES)
@given(seed=SEEDS)
@settings(max_examples=5)
def test_what_is_nearly_an_anomaly_is_none(name: str, seed: int) -> None:
    """CHK-02."""
    assert name not in {found.name for found in check_history(near_miss(name, model_history(seed))).anomalies}


@pytest.mark.parametrize("plant", BOUNDARIES.values(), ids=BOUNDARIES)
def test_a_transaction_that_does_not_end_where_its_boundary_says_is_named(plant: Plant) -> None:
    checked = check_history(numbered(plant(model_history(1))))
    assert {each.name for each in checked.anomalies} == {"boundary-violation"}


@pytest.mark.parametrize("miss", near_misses.BOUNDARIES.values(), ids=near_misses.BOUNDARIES)
def test_a_transaction_that_ends_where_its_boundary_says_is_no_anomaly(miss: near_misses.NearMiss) -> None:
    """CHK-02."""
    assert check_history(numbered(miss(model_history(1)))).anomalies == ()


@pytest.mark.parametrize(
    ("keeps", "ended", "name"),
    [
        ("process", "process", "lost-after-crash"),
        ("power", "power", "lost-after-crash"),
        ("power", "process", "lost-after-crash"),
        ("process", "power", None),
    ],
)
def test_what_a_crash_has_taken_is_judged_by_what_was_declared_to_outlive_it(
    keeps: str, ended: str, name: str | None
) -> None:
    """CHK-01, CHK-02: a record that was only handed to the system may be gone after a power cut."""
    found = check_history(numbered(crashed(model_history(1), keeps, ended))).anomalies
    assert {each.name for each in found} & {"lost-write", "lost-after-crash"} == ({name} if name else set())


@pytest.mark.parametrize(
    ("given_", "what"),
    [
        ({"after": 61.0}, "signed 61.1 s before"),
        ({"after": 59.0}, None),
        ({"age": 70_000}, "signed 70 s before, or later, by the clocks of the two workers"),
        ({"after": 61.0, "age": 20_000}, None),
        ({"ids": ("http://c", *REQUEST[1:])}, "by the signature of another request"),
        ({"times": 2}, "which it had accepted before"),
    ],
)
def test_a_request_is_accepted_as_it_was_signed_once_and_soon(given_: dict[str, Any], what: str | None) -> None:
    """CHK-01, CHK-02."""
    found = check_history(requested(model_history(1), **given_)).anomalies
    assert [each.name for each in found] == ["wrong-signature"] * (what is not None)
    assert what is None or what in found[0].what


@given(SEEDS)
@settings(max_examples=10)
def test_a_task_that_polls_only_after_it_was_fenced_is_no_anomaly(seed: int) -> None:
    """CHK-02: its producer was there before, so that none of its transactions can be committed."""
    history = model_history(seed)
    start = next(each for each in history if each.op == "start" and each.gen == 1)
    fence = next(each for each in history if (each.op, each.type, each.gen) == ("fence", "ok", 2))
    moved = [after for each in history if each is not start for after in ((each, start) if each is fence else (each,))]
    assert "late-zombie" not in {each.name for each in check_history(numbered(moved)).anomalies}


def test_every_check_has_a_planted_anomaly() -> None:
    assert {name for check in ALL_CHECKS for name in check.names} == set(PLANTS)
