"""A worker that looks at its group again and again does no work for what has not changed, however much there is."""

from __future__ import annotations

import json
import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.ids import ConnectorTaskId
from eosfw.runtime.distributed.reconfiguration import ConnectorReconfiguration
from eosfw.runtime.distributed.state_queries import StateQueries
from eosfw.runtime.group.followed_assignment import FollowedAssignment
from eosfw.state.group.assignment import ClusterAssignment, WorkerShare
from eosfw.state.group.local_tasks import LocalChange, LocalTasks, plan_changes
from eosfw.state.storage.config_log import ConfigLog, ConnectorEntry
from eosfw.state.storage.status_records import ReportedStatus, StatusLog, task_status_record

MANY = 200
RUNNING = ReportedStatus("RUNNING", "w:1", 1)


class Connectors:
    """A config topic with many connectors of one task each."""

    def __init__(self) -> None:
        self.log, self.offset = ConfigLog(), 0
        for number in range(MANY):
            self.configure(f"c{number}", tasks=1)

    def configure(self, name: str, tasks: int) -> None:
        self._apply(f"connector-{name}", {"properties": {"name": name}})
        for task in range(tasks):
            self._apply(f"task-{name}-{task}", {"properties": {}})
        self._apply(f"commit-{name}", {"tasks": tasks})

    def delete(self, name: str) -> None:
        self._apply(f"connector-{name}", None)

    def _apply(self, key: str, value: object) -> None:
        self.log.apply(self.offset, key.encode(), None if value is None else json.dumps(value).encode(), "w")
        self.offset += 1

    def connectors(self) -> Any:
        known = self.log.connectors()
        return known if all(one.properties is not None for one in known.values()) else self._existing(known)

    def _existing(self, known: Any) -> Any:
        return {name: one for name, one in known.items() if one.properties is not None}


class Statuses:
    """The states in a status topic; counts for which connectors somebody asks."""

    def __init__(self) -> None:
        self.log, self.asked, self.deleted = StatusLog(), Counter[str](), set[Any]()
        for number in range(MANY):
            self.report(f"c{number}", 0)

    def report(self, connector: str, task: int) -> None:
        self.log.apply(*task_status_record(ConnectorTaskId(connector, task), RUNNING))

    def take_changed(self) -> frozenset[str]:
        return self.log.take_changed()

    def connectors(self) -> frozenset[str]:
        return frozenset(self.log.tasks)

    def tasks(self, connector: str) -> Any:
        self.asked[connector] += 1
        return self.log.tasks.get(connector, {})

    def topics(self, connector: str) -> list[str]:
        return []

    def delete_connector(self, name: str) -> None:
        self.deleted.add(name)

    def delete_task(self, task: ConnectorTaskId) -> None:
        self.deleted.add(task)


@pytest.fixture
def connectors() -> Connectors:
    return Connectors()


@pytest.fixture
def statuses() -> Statuses:
    return Statuses()


@pytest.fixture
def states(connectors: Connectors, statuses: Statuses) -> StateQueries:
    found = StateQueries(SimpleNamespace(topic=connectors, statuses=statuses))  # type: ignore[arg-type]
    found.delete_outdated()
    statuses.asked.clear()
    return found


def test_states_are_looked_at_once_while_nothing_changes(states, statuses) -> None:
    states.delete_outdated()

    assert not statuses.asked


def test_a_new_state_is_looked_at_alone(states, statuses) -> None:
    statuses.report("c7", 3)

    states.delete_outdated()

    assert statuses.asked == {"c7": 1}
    assert statuses.deleted == {ConnectorTaskId("c7", 3)}, "there is one task only"


def test_states_of_what_was_deleted_or_shrank_are_forgotten(states, statuses, connectors) -> None:
    connectors.configure("c1", tasks=0)
    connectors.delete("c2")

    states.delete_outdated()

    assert statuses.deleted == {ConnectorTaskId("c1", 0), "c2"}


def test_a_new_leader_looks_at_every_state(states, statuses) -> None:
    states.forget()

    states.delete_outdated()

    assert len(statuses.asked) == MANY


class Asked(ConnectorReconfiguration):
    """Counts the connectors that are looked at."""

    def __init__(self, connectors: Connectors) -> None:
        runtime = SimpleNamespace(now=lambda: 0.0, lock=lambda: None)
        super().__init__(SimpleNamespace(topic=connectors, runtime=runtime))  # type: ignore[arg-type]
        self.looks = Counter[str]()
        self.busy = False

    def _is_due(self, name: str, entry: ConnectorEntry) -> bool:
        self.looks[name] += 1
        return super()._is_due(name, entry)

    def _try(self, name: str, entry: ConnectorEntry) -> bool:
        if not self.busy:
            self._settle(name, entry)
        return not self.busy


def test_connectors_are_looked_at_again_only_when_one_has_changed(connectors) -> None:
    asked = Asked(connectors)
    asked.run()
    asked.run()
    assert set(asked.looks.values()) == {1}

    connectors.configure("c3", tasks=2)
    asked.run()
    assert set(asked.looks.values()) == {2}


def test_a_connector_that_could_not_be_dealt_with_is_looked_at_again(connectors) -> None:
    asked = Asked(connectors)
    asked.busy = True
    asked.run()
    asked.busy = False
    asked.run()

    assert set(asked.looks.values()) == {2}


def test_an_assignment_is_followed_once_while_nothing_changes(connectors, monkeypatch) -> None:
    compared: list[int] = []

    def counted(running: LocalTasks, wanted: LocalTasks) -> LocalChange:
        compared.append(len(wanted))
        return plan_changes(running, wanted)

    monkeypatch.setattr("eosfw.runtime.group.followed_assignment.plan_changes", counted)
    runner = SimpleNamespace(start_generation=lambda _: None, stop_tasks=lambda _: None, stop_at_once=lambda: None)
    settings = SimpleNamespace(worker="w")
    lock = threading.Lock()
    services = SimpleNamespace(settings=settings, runtime=SimpleNamespace(lock=lambda: lock))
    followed = FollowedAssignment(runner, services, SimpleNamespace(joined=True))  # type: ignore[arg-type]
    tasks = frozenset(ConnectorTaskId(f"c{number}", 0) for number in range(MANY))
    assignment = ClusterAssignment(1, "w", workers={"w": WorkerShare(None, tasks)})
    known = connectors.connectors()

    followed.follow(assignment, known)
    followed.follow(assignment, known)
    assert compared == [MANY]

    followed.drop()
    followed.follow(assignment, known)
    assert compared == [MANY, MANY], "what was dropped is started again"
