"""How many rebalances a worker took part in, and how long they took."""

from __future__ import annotations

from eosfw.state.group.rebalances import Rebalances


def test_a_rebalance_lasts_from_the_first_look_that_found_it():
    """MET-01: until the assignment is followed; one that was not seen to begin takes no time."""
    none = Rebalances()
    first = none.begun(10.0).begun(12.0).followed(3, 25.0)
    second = first.followed(4, 28.0).begun(30.0).followed(5, 32.0)

    assert (none.average, none.longest, none.ended, none.assignment) == (0, 0, None, 0)
    assert first == Rebalances(1, 15.0, 15.0, 3, None, 25.0)
    assert second == Rebalances(3, 17.0, 15.0, 5, None, 32.0)
    assert second.average == 17 / 3
