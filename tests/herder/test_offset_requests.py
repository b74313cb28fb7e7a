"""Offsets are shown for any connector and changed for stopped ones alone (KIP-875)."""

from __future__ import annotations

from contextlib import closing
from typing import ClassVar

import pytest
from tests.herder.test_connector_requests import COUNTING, create, until_states
from tests.kip618.group import PLUGINS, GroupPlugins
from tests.runtime.counting import CountingConnector, CountingTask

from eosfw.concurrency import Runtime
from eosfw.connectors import PollResult
from eosfw.errors import (
    BadRequestError,
    InvalidProducerEpochError,
    NotFoundError,
    ProducerFencedError,
    RebalanceNeededError,
)
from eosfw.protocols import TransactionalProducer
from eosfw.protocols.herder import ConnectorOffset
from eosfw.records import ProducerRecord
from eosfw.runtime import DistributedHerder
from pytest_eos.runs.groups.herders import HerderGroup

S0, S1 = {"stream": "s0"}, {"stream": "s1"}
TO_STOP = "Connectors must be in the STOPPED state before their offsets can be modified"


def shown(herder: DistributedHerder) -> dict[str, int]:
    return {one.partition["stream"]: one.offset["next"] for one in herder.connector_offsets("c") if one.offset}


def write(producer: TransactionalProducer) -> None:
    producer.begin_transaction()
    producer.send(ProducerRecord("counts", b"late"))
    producer.commit_transaction(10.0)


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


def test_a_connector_that_was_deleted_and_created_anew_can_be_given_offsets(drained, group, cluster):
    """OFF-14, LOG-08: before it has tasks. Those of its namesake may still be at work, so they are fenced."""
    drained.delete_connector("c")
    group.until(lambda: drained.worker_status().connectors == {}, "the end of its tasks")
    with closing(PLUGINS.backend("memory").connect(cluster.client, cluster.runtime)) as backend:
        zombies = [backend.producer(f"g-c-{task}") for task in (0, 1)]
        for zombie in zombies:
            zombie.init_transactions(10.0)
        drained.put_connector("c", COUNTING, initial_state="STOPPED")
        until_states(drained, group, "STOPPED", [])

        drained.alter_offsets("c", [ConnectorOffset(S0, {"next": 48})])
        for zombie in zombies:
            with pytest.raises((ProducerFencedError, InvalidProducerEpochError)):
                write(zombie)
            zombie.close()
    assert shown(drained) == {"s0": 48, "s1": 50}
    drained.resume_connector("c")
    until_states(drained, group, "RUNNING", ["RUNNING", "RUNNING"])
    group.until(lambda: shown(drained) == {"s0": 50, "s1": 50}, "the end of both streams, again")


class SlowTask(CountingTask):
    """Takes two seconds for each poll, so it stops late."""

    runtime: ClassVar[Runtime]

    def poll(self) -> PollResult:
        found = super().poll()
        self.runtime.sleep(2.0)
        return found


class SlowConnector(CountingConnector):
    task = SlowTask


@pytest.mark.parametrize("protocol", ["sessioned", "eager"])
def test_offsets_are_changed_without_exactly_once_only_when_no_task_can_commit_any_more(cluster, protocol):
    """OFF-14: nothing fences a task that is late to stop, and its offset would come after the change."""
    SlowTask.runtime = cluster.runtime
    settings = {
        "exactly_once_source_support": "disabled",
        "connect_protocol": protocol,
        "task_shutdown_graceful_timeout_ms": "5000",
    }
    with HerderGroup(cluster, GroupPlugins(SlowConnector()), "g", **settings) as group:  # type: ignore[arg-type]
        for name in "ab":
            group.start(name)
        herder = group.workers[group.leaders()[0]]
        herder.put_connector("c", {**COUNTING, "until": "0"})
        until_states(herder, group, "RUNNING", ["RUNNING", "RUNNING"])
        group.runtime.sleep(10.0)
        herder.stop_connector("c")
        wanted = {"s0": 1000, "s1": 2000}

        def alter() -> bool:
            try:
                herder.alter_offsets("c", [ConnectorOffset({"stream": one}, {"next": wanted[one]}) for one in wanted])
            except RebalanceNeededError:
                return False
            return True

        assert not alter()
        group.until(alter, "the end of both tasks", 10.0)
        group.runtime.sleep(10.0)
        assert shown(herder) == wanted


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
