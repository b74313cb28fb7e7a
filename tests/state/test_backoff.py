"""Pauses that double, between attempts and between log messages."""

from __future__ import annotations

from eosfw.state.tasks.backoff import LONGEST, ExponentialBackoff, LogBackoff


def test_repeated_messages_are_logged_less_often_until_a_reset() -> None:
    """The first at once, then after twice as long each time, up to a limit."""
    backoff = LogBackoff()
    logged = [now for now in range(2000) if backoff.due(float(now))]

    assert logged == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111, 1411, 1711]
    assert logged[-1] - logged[-2] == LONGEST

    backoff.reset()
    assert backoff.due(2000.0)
    assert not backoff.due(2000.5)


def test_pauses_double_up_to_a_limit_until_a_reset() -> None:
    backoff = ExponentialBackoff(1.0, 10.0)
    assert [backoff.next() for _ in range(6)] == [1, 2, 4, 8, 10, 10]

    backoff.reset()
    assert backoff.next() == 1
