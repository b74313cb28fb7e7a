"""A worker that looks at its group again and again does no work for what has not changed, however much there is."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.distributed.reconfiguration import ConnectorReconfiguration
from eosfw.runtime.distributed.state_queries import StateQueries
from eosfw.state.group.configured_tasks import ConfiguredTasks
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.storage.group_requests import GroupRequests, LoggerLevelRequest, RequestLog, RestartRequest
from eosfw.state.storage.status_records import ReportedStatus, StatusLog, task_status_record

from .many_connectors import EVERY, MANY, Connectors

RUNNING = ReportedStatus("RUNNING", "w:1", 1)


class Statuses:
    """The states in a status topic; counts for which connectors somebody asks."""

    def __init__(self) -> None:
        self.log, self.asked, self.deleted = StatusLog(), Counter[str](), set[Any]()
        self.reads = 0
        for number in range(MANY):
            self.report(f"c{number}", 0)

    def refresh(self) -> None:
        self.reads += 1

    def connector(self, name: str) -> ReportedStatus | None:
        return RUNNING if name in self.log.tasks else None

    def report(self, connector: str, task: int) -> None:
        self.log.apply(*task_status_record(ConnectorTaskId(connector, task), RUNNING))

    def take_changed(self) -> frozenset[str]:
        return self.log.take_changed()

    def connectors(self) -> frozenset[str]:
        return frozenset(self.log.tasks)

    def knows(self, connector: str) -> bool:
        return connector in self.log.tasks

    def tasks(self, connector: str) -> Any:
        self.asked[connector] += 1
        return self.log.tasks.get(connector, {})

    def topics(self, connector: str) -> list[str]:
        return []

    def delete_connector(self, name: str) -> None:
        self.deleted.add(name)
        for key in (f"status-task-{name}-0", f"status-connector-{name}"):
            self.log.apply(key.encode(), None)

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


def test_states_of_a_deleted_connector_are_deleted_once(states, statuses, connectors) -> None:
    """The records that delete them are read back as news of the connector."""
    connectors.delete("c2")
    states.delete_outdated()
    statuses.deleted.clear()

    states.delete_outdated()

    assert not statuses.deleted


def test_a_changed_connector_is_looked_at_alone(states, statuses, connectors) -> None:
    connectors.configure("c9", tasks=1)

    states.delete_outdated()

    assert statuses.asked == {"c9": 1}


def test_a_new_leader_looks_at_every_state(states, statuses) -> None:
    states.forget()

    states.delete_outdated()

    assert len(statuses.asked) == MANY


def test_the_states_of_all_connectors_take_one_read_of_the_status_topic(states, statuses, connectors) -> None:
    connectors.delete("c2")
    connectors.configure("not started yet", tasks=1)

    found = states.connectors()

    assert statuses.reads == 1
    assert found.keys() == {f"c{number}" for number in range(MANY)} - {"c2"}
    assert found["c1"] == states.connector("c1")


class CountedOffset(int):
    """An offset that counts how often it is compared."""

    compared = 0

    def __ge__(self, other: int) -> bool:
        CountedOffset.compared += 1
        return int(self) >= other


def test_requests_that_were_acted_upon_are_not_gone_through_again() -> None:
    log = RequestLog()
    for offset in range(MANY):
        log.add(CountedOffset(offset), RestartRequest(f"c{offset}"))
        log.add(CountedOffset(offset), LoggerLevelRequest(f"logger{offset}", "DEBUG"))
    log.add(CountedOffset(MANY), RestartRequest("c7"))

    found = log.since(MANY)

    assert found == GroupRequests((RestartRequest("c7"),))
    assert CountedOffset.compared == 3


class Asked(ConnectorReconfiguration):
    """Notes the connectors that are dealt with."""

    def __init__(self, connectors: Connectors) -> None:
        runtime = SimpleNamespace(now=lambda: 0.0, lock=lambda: None, queue=ThreadRuntime().queue)
        watchers: Any = SimpleNamespace(stop=lambda _: None)
        super().__init__(SimpleNamespace(topic=connectors, runtime=runtime), lambda _: watchers)  # type: ignore[arg-type]
        self.busy = False
        self.dealt_with: list[str] = []

    def _try(self, name: str, entry: ConnectorEntry) -> bool:
        if not self.busy:
            self.dealt_with.append(name)
            self._settle(name, entry)
        return not self.busy


def test_a_leader_looks_at_connectors_that_have_changed(connectors) -> None:
    asked = Asked(connectors)
    asked.run()
    assert connectors.looks == dict.fromkeys(connectors.log.connectors(), 1)
    connectors.looks.clear()

    asked.run()
    assert not connectors.looks

    connectors.configure("c3", tasks=2)
    connectors.delete("c4")
    asked.run()
    assert connectors.looks == {"c3": 1, "c4": 1}


def test_a_connector_that_could_not_be_dealt_with_is_looked_at_again(connectors) -> None:
    asked = Asked(connectors)
    asked.busy = True
    asked.run()
    asked.busy = False
    connectors.looks.clear()

    asked.run()
    asked.run()

    assert connectors.looks == dict.fromkeys(connectors.log.connectors(), 1)


def test_properties_that_are_put_back_get_tasks_of_their_own(connectors) -> None:
    """Else tasks that were written in between would have the properties that nobody wants any more."""
    asked = Asked(connectors)
    asked.run()
    connectors.configure("c3", tasks=1, poll="slow")
    connectors.put("c3")
    asked.dealt_with.clear()

    asked.run()

    assert asked.dealt_with == ["c3"]


def test_the_configured_tasks_follow_the_connectors_that_change(connectors) -> None:
    """The same object while no task comes or goes: an assignment need not be made again."""
    configured = ConfiguredTasks()
    configured.update({name: connectors.log.entry(name) for name in connectors.changes_since(0).names})
    before = configured.tasks
    assert before == set(EVERY)

    connectors.configure("c1", tasks=1)
    configured.update({"c1": connectors.log.entry("c1")})
    assert configured.tasks is before

    connectors.configure("c1", tasks=3)
    connectors.delete("c2")
    configured.update({name: connectors.log.entry(name) for name in ("c1", "c2")})
    assert configured.tasks == {*EVERY, ConnectorTaskId("c1", 1), ConnectorTaskId("c1", 2)} - {EVERY[2]}


def test_the_changes_of_the_config_log_since_a_version_are_those_connectors_alone(connectors) -> None:
    """Each once, in the order of their last changes."""
    version = connectors.changes_since(0).version
    connectors.configure("c7", tasks=1)
    connectors.configure("c5", tasks=2)
    connectors.delete("c7")

    assert connectors.changes_since(version).names == ("c5", "c7")
    assert connectors.changes_since(connectors.changes_since(version).version).names == ()
    assert len(connectors.changes_since(0).names) == MANY
