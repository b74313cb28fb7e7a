"""How many rebalances a worker took part in, and how long they took (MET-01)."""

from __future__ import annotations

from eosfw.state.group.rebalances import Rebalances


def test_rebalances_are_counted_with_their_times() -> None:
    first = Rebalances().begun(1.0).followed(1, 3.0)
    second = first.begun(10.0).followed(2, 16.0)

    assert (second.completed, second.average, second.longest, second.ended) == (2, 4.0, 6.0, 16.0)
    assert second.assignment == 2


def test_a_rebalance_begins_once() -> None:
    """Each look until it ends finds it under way."""
    assert Rebalances().begun(1.0).begun(2.0).followed(1, 3.0).longest == 2.0


def test_without_rebalances_their_average_is_zero() -> None:
    assert Rebalances().average == 0.0
