"""What a worker runs follows the assignments of its group."""

from __future__ import annotations

import threading
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.errors import RequestTimeoutError
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.group.followed_assignment import FollowedAssignment
from eosfw.runtime.group.protocols import Assignment
from eosfw.state.group.assignment import ClusterAssignment, WorkerShare
from eosfw.state.storage.config_log import ConnectorChanges

from .many_connectors import EVERY, MANY, Connectors


@pytest.fixture
def connectors() -> Connectors:
    return Connectors()


class Runner:
    """Notes what a worker is asked to run."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.fails = False

    def start_generation(self, assignment: Assignment) -> None:
        if self.fails:
            raise RequestTimeoutError("other tasks were stopped all the time")
        self.calls.append((assignment.connector, assignment.generation, list(assignment.tasks)))

    def stop_tasks(self, tasks: Collection[ConnectorTaskId]) -> None:
        self.calls.append(set(tasks))

    def stop_at_once(self) -> None:
        self.calls.append("stop at once")

    def taken(self) -> list[Any]:
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def runner() -> Runner:
    return Runner()


@pytest.fixture
def followed(runner: Runner) -> FollowedAssignment:
    lock = threading.Lock()
    services = SimpleNamespace(settings=SimpleNamespace(worker="w"), runtime=SimpleNamespace(lock=lambda: lock))
    return FollowedAssignment(runner, services, SimpleNamespace(joined=True))  # type: ignore[arg-type]


def assigned(number: int, *tasks: ConnectorTaskId) -> ClusterAssignment:
    return ClusterAssignment(number, "w", workers={"w": WorkerShare(None, frozenset(tasks))})


def test_a_worker_that_is_put_out_of_its_group_while_it_begins_to_follow_starts_nothing_until_it_is_back(
    connectors, runner
) -> None:
    """FEN-10: else its tasks would be stopped right after their start, and taken to run from then on."""
    coordinator = SimpleNamespace(joined=True)
    lock = threading.Lock()
    services = SimpleNamespace(settings=SimpleNamespace(worker="w"), runtime=SimpleNamespace(lock=lambda: lock))
    followed = FollowedAssignment(runner, services, coordinator)  # type: ignore[arg-type]
    changes_since = connectors.changes_since

    def put_out(version: int) -> ConnectorChanges:
        coordinator.joined = False
        followed.drop()
        return changes_since(version)

    connectors.changes_since = put_out
    followed.follow(assigned(1, EVERY[0]), connectors)
    assert runner.taken() == ["stop at once"]

    connectors.changes_since, coordinator.joined = changes_since, True
    followed.follow(assigned(2, EVERY[0]), connectors)
    assert runner.taken() == [("c0", 0, [0])]


def test_a_worker_that_follows_an_assignment_looks_at_connectors_that_have_changed(
    connectors, followed, runner
) -> None:
    assignment = assigned(1, *EVERY[:-1])
    followed.follow(assignment, connectors)
    assert len(runner.taken()) == MANY - 1
    connectors.looks.clear()

    followed.follow(assignment, connectors)
    assert not connectors.looks

    connectors.configure("c3", tasks=1)
    connectors.configure(f"c{MANY - 1}", tasks=1)  # which runs elsewhere
    followed.follow(assignment, connectors)
    assert connectors.looks == {"c3": 1}
    assert runner.taken() == [{ConnectorTaskId("c3", 0)}, ("c3", 1, [0])]

    connectors.delete("c3")
    followed.follow(assignment, connectors)
    assert runner.taken() == [{ConnectorTaskId("c3", 0)}]


def test_another_assignment_starts_and_stops_what_differs(connectors, followed, runner) -> None:
    followed.follow(assigned(1, *EVERY[:5]), connectors)
    runner.taken()

    followed.follow(assigned(2, *EVERY[1:6]), connectors)

    assert runner.taken() == [{EVERY[0]}, ("c5", 0, [0])]


def test_tasks_that_were_dropped_are_started_again(connectors, followed, runner) -> None:
    assignment = assigned(1, *EVERY)
    followed.follow(assignment, connectors)
    followed.drop()
    runner.taken()

    followed.follow(assignment, connectors)

    assert len(runner.taken()) == MANY


def test_what_could_not_be_started_is_tried_again(connectors, followed, runner) -> None:
    assignment = assigned(1, *EVERY[:2])
    followed.follow(assignment, connectors)
    runner.taken()
    connectors.configure("c1", tasks=1)
    runner.fails = True
    with pytest.raises(RequestTimeoutError):
        followed.follow(assignment, connectors)
    runner.fails = False

    followed.follow(assignment, connectors)

    assert runner.taken()[-1] == ("c1", 1, [0])
