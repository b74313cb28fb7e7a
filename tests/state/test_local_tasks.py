"""Which tasks a group has, and what a worker stops and starts of those that it is assigned."""

from __future__ import annotations

import pytest

from eosfw.ids import ConnectorTaskId
from eosfw.state.group.configured_tasks import ConfiguredTasks
from eosfw.state.group.local_tasks import LocalChange, TasksToStart, by_connector, local_tasks, plan_changes
from eosfw.state.storage.config_log import ConnectorEntry

C0, C1, C2, D0 = (ConnectorTaskId(*one) for one in (("c", 0), ("c", 1), ("c", 2), ("d", 0)))


def entry(generation: int | None, tasks: int) -> ConnectorEntry:
    return ConnectorEntry({}, generation, ({},) * tasks)


def test_an_assigned_task_runs_once_it_has_a_configuration():
    """FEN-12: in the newest generation of its connector; an assignment may be older than the configurations."""
    entries = {"c": entry(3, 1), "d": entry(None, 0)}

    assert local_tasks([C0, C1, C2, D0], entries.__getitem__) == {C0: 3}
    assert by_connector([C1, D0, C0]) == {"c": [C1, C0], "d": [D0]}


@pytest.mark.parametrize(
    ("running", "wanted", "stop", "start"),
    [
        ({}, {C1: 3, D0: 0, C0: 3}, set(), [("c", 3, [0, 1]), ("d", 0, [0])]),
        ({C0: 3, D0: 0}, {C0: 4, C1: 4, D0: 0}, {C0}, [("c", 4, [0, 1])]),
        ({C0: 4, D0: 0}, {C0: 3, D0: 0}, {C0}, [("c", 3, [0])]),
        ({C0: 0, C1: 0}, {C1: 0}, {C0}, []),
        ({C0: 1000}, {C0: int("1000")}, set(), []),
    ],
    ids=["all new", "a new generation", "an older generation", "one less", "nothing"],
)
def test_only_what_changes_stops_and_starts(running, wanted, stop, start):
    """FEN-12."""
    assert plan_changes(running, wanted) == LocalChange(frozenset(stop), tuple(TasksToStart(*one) for one in start))


def test_the_tasks_of_a_group_follow_their_connectors():
    """The same object while no task comes or goes: who has seen it need not compare."""
    configured = ConfiguredTasks()
    seen = []
    for changes in ({"c": 2, "d": 1}, {"c": 1}, {"c": 1}, {"c": 3, "d": 0}, {"d": 0, "e": 0}):
        configured.update({name: entry(0, count) for name, count in changes.items()})
        seen.append(configured.tasks)

    assert seen[:2] == [{C0, C1, D0}, {C0, D0}]
    assert seen[2] is seen[1]
    assert seen[3] == {C0, C1, C2}
    assert seen[4] is seen[3]

    for _ in range(2):
        configured.update({"many": entry(0, 300)})
        seen.append(configured.tasks)
    assert seen[-1] is seen[-2]
