"""Connectors that change quickly, in random order: what is reported is what runs, and each record is there once."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing

import pytest
from tests.herder.worker_groups import PLUGINS, Workers, workers

from eosfw.errors import NotFoundError, RetriableError
from eosfw.ids import ConnectorTaskId, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.runtime import DistributedHerder

CHANGES = 40


class Changes:
    """Random requests to the leader; the same seed gives the same requests."""

    def __init__(self, group: Workers, seed: int) -> None:
        self._group, self._random = group, random.Random(seed)
        self.done: list[str] = []

    def one(self) -> None:
        """Ask for one change of one connector, at once or after a short pause."""
        self._group.runtime.sleep(self._random.choice([0.0, 0.0, 0.05, 0.2, 1.0]))
        name, leader = self._random.choice("cd"), self._group.leader()
        change = self._random.choice([self._put] * 4 + [_pause, _resume, _stop, _restart, _restart_task, _delete])
        self.done.append(f"{change.__name__} {name}")
        try:
            change(leader, name)
        except NotFoundError:  # it was deleted
            return
        except RetriableError as error:  # a rebalance is expected
            self.done[-1] += f": {error}"

    def _put(self, leader: DistributedHerder, name: str) -> None:
        del leader
        self._group.put(self._random.randint(1, 5), name)


def _pause(leader: DistributedHerder, name: str) -> None:
    leader.pause_connector(name)


def _resume(leader: DistributedHerder, name: str) -> None:
    leader.resume_connector(name)


def _stop(leader: DistributedHerder, name: str) -> None:
    leader.stop_connector(name)


def _restart(leader: DistributedHerder, name: str) -> None:
    leader.restart_connector_and_tasks(name, only_failed=False, include_tasks=True)


def _restart_task(leader: DistributedHerder, name: str) -> None:
    leader.restart_task(ConnectorTaskId(name, 0))


def _delete(leader: DistributedHerder, name: str) -> None:
    leader.delete_connector(name)


def reported(group: Workers) -> dict[str, str]:
    """The states in the status topic, each with the worker that reported it."""
    found = {}
    for name in group.leader().connectors():
        try:
            status = group.leader().connector_status(name)
        except NotFoundError:  # it was created just now
            continue
        found |= {f"{name}-{task.id}": f"{task.state} {task.worker_id}" for task in status.tasks}
    return found


def running(group: Workers) -> dict[str, str]:
    """What runs, and where."""
    return {str(task): f"RUNNING {name}:8083" for name in group.workers for task in group.running(name)}


def failed(group: Workers) -> list[str]:
    """Every task that failed, of any generation."""
    found = [one for herder in group.workers.values() for one in herder.worker_status().tasks]
    ended = [one for herder in group.workers.values() for one in herder.worker_status().retired]
    return [f"{one.id} {one.error}" for one in [*found, *ended] if one.state.name == "FAILED"]


def open_records(group: Workers) -> int:
    """How many records are behind the start of a transaction that is open."""
    with closing(PLUGINS.backend("memory").connect(group.cluster.client, group.runtime)) as backend:
        partition = TopicPartition(group.topic, 0)
        ends = [backend.admin().end_offsets([partition], level)[partition] for level in IsolationLevel]
        return max(ends) - min(ends)


def settled(group: Workers, *counts: int) -> Callable[[], bool]:
    """Whether both connectors run with so many tasks, and the status topic says so."""

    def is_settled() -> bool:
        found = reported(group)
        return len(found) == sum(counts) and found == running(group)

    return is_settled


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("seed", [0, 1, 3, 5, 59])
def test_quick_changes_leave_states_and_records_right(seed: int, count: int):
    """FEN-04: a newer generation cancels rounds of fencing; no task fails of it."""
    with workers(seed, scheduled_rebalance_max_delay_ms="0") as group:
        for name in "abc"[:count]:
            group.start(name)
        changes = Changes(group, seed)
        for _ in range(CHANGES):
            changes.one()

        for name, tasks in (("c", 3), ("d", 2)):
            group.put(tasks, name)
            group.leader().resume_connector(name)
        try:
            group.until(settled(group, 3, 2), "states that agree with what runs")
        except AssertionError as error:
            found = reported(group), running(group), failed(group), changes.done
            raise AssertionError(f"{error}: {found}") from None

        assert failed(group) == []
        group.until_more()
        for name in list(group.workers):
            group.stop(name)
        assert open_records(group) == 0
        group.check_exactly_once()


def test_a_worker_looks_at_its_group_once_behind_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who creates a thousand connectors at once must not have it look a thousand times at what has not changed."""
    with workers() as group:
        group.start("a")
        group.put(1)
        leader, looks = group.leader(), 0
        read, go = leader._services.topic.read_decided, group.runtime.event()

        def look() -> None:
            nonlocal looks
            looks += 1
            go.wait()
            read()

        monkeypatch.setattr(leader._services.topic, "read_decided", look)
        group.until(lambda: looks == 1, "a look")
        for _ in range(100):
            leader.pause_connector("c")
        go.set()
        group.runtime.sleep(1.0)

        assert looks < 10
