"""Offsets are shown for any connector and changed for stopped ones alone (KIP-875)."""

from __future__ import annotations

import pytest
from tests.herder.test_connector_requests import create, until_states

from eosfw.errors import BadRequestError, NotFoundError
from eosfw.protocols.herder import ConnectorOffset
from eosfw.runtime import DistributedHerder

S0, S1 = {"stream": "s0"}, {"stream": "s1"}
TO_STOP = "Connectors must be in the STOPPED state before their offsets can be modified"


def shown(herder: DistributedHerder) -> dict[str, int]:
    return {one.partition["stream"]: one.offset["next"] for one in herder.connector_offsets("c") if one.offset}


def stop(herder, group) -> None:
    herder.stop_connector("c")
    until_states(herder, group, "STOPPED", [])


@pytest.fixture
def drained(group) -> DistributedHerder:
    """A worker whose connector `c` has read both streams to their end, 50."""
    herder = group.start()
    create(herder, group)
    group.until(lambda: shown(herder) == {"s0": 50, "s1": 50}, "the end of both streams")
    return herder


def test_offsets_of_a_running_connector_are_shown_and_stay(drained, group):
    """OFF-13, OFF-14: its tasks would write over the change."""
    for change in (
        lambda: drained.alter_offsets("c", [ConnectorOffset(S0, {"next": 7})]),
        lambda: drained.reset_offsets("c"),
    ):
        with pytest.raises(BadRequestError, match=TO_STOP):
            change()
    drained.pause_connector("c")
    until_states(drained, group, "PAUSED", ["PAUSED", "PAUSED"])
    with pytest.raises(BadRequestError, match=TO_STOP):
        drained.reset_offsets("c")
    assert shown(drained) == {"s0": 50, "s1": 50}


def test_tasks_go_on_at_changed_offsets(drained, group):
    """OFF-14, OFF-15: stopped, altered, resumed, and reset."""
    stop(drained, group)
    drained.alter_offsets("c", [ConnectorOffset(S0, {"next": 45}), ConnectorOffset(S1, None)])
    assert shown(drained) == {"s0": 45}
    drained.resume_connector("c")
    group.until(lambda: shown(drained) == {"s0": 50, "s1": 50}, "the end of both streams, again")
    stop(drained, group)
    assert "have been reset successfully" in drained.reset_offsets("c")
    assert shown(drained) == {}


def test_a_connector_that_never_ran_can_be_given_offsets(group):
    """OFF-14: nobody is to be fenced."""
    herder = group.start()
    create_stopped = {"connector.class": "counting", "topic": "counts", "streams": "1", "until": "50"}
    herder.put_connector("c", create_stopped, initial_state="STOPPED")
    until_states(herder, group, "STOPPED", [])
    herder.alter_offsets("c", [ConnectorOffset(S0, {"next": 48})])
    herder.resume_connector("c")
    until_states(herder, group, "RUNNING", ["RUNNING"])
    group.until(lambda: shown(herder) == {"s0": 50}, "the end of the stream")


def test_offsets_of_an_unknown_connector_are_not_found(group):
    """OFF-13, OFF-14."""
    herder = group.start()
    for request in (
        lambda: herder.connector_offsets("x"),
        lambda: herder.alter_offsets("x", [ConnectorOffset(S0, {"next": 1})]),
        lambda: herder.reset_offsets("x"),
    ):
        with pytest.raises(NotFoundError, match="Connector x not found"):
            request()
