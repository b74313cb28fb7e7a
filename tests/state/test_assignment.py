"""Who runs what, after each kind of change in a group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eosfw.ids import ConnectorTaskId
from eosfw.state.group.assignment import LostTask, RevokedTask, WorkerShare

from .worker_group import DELAY, REBALANCE, Group, settled, tasks


def test_nothing_else_moves_while_lost_tasks_wait():
    """What moved now might have to move back."""
    group = settled("a", "b", x=6)
    del group.workers["b"]
    group.settle()
    group.join("new")

    assert group.settle().tasks_of("a") | group.assignment.lost.keys() == group.configured
    group.settle(seconds=DELAY / 1000)
    assert group.counts() == {"a": 3, "new": 3}


def test_tasks_wait_no_longer_than_they_may_where_the_leader_before_had_a_clock_far_ahead():
    """What is lost or revoked has a deadline by its clock, which the next leader reads by another one."""
    group = settled("a", "b", x=6)
    group.now += 100 * DELAY
    del group.workers["b"]
    lost = group.settle().lost
    group.now -= 100 * DELAY
    group.round()
    group.now += DELAY
    group.round()

    assert lost
    assert group.counts() == {"a": 6}

    group = settled("a", x=6)
    group.now += 100 * DELAY
    group.join("b")
    group.round()
    group.now -= 100 * DELAY
    group.round()
    group.now += REBALANCE

    assert sum(map(len, (share.tasks for share in group.round().workers.values()))) == 6


def test_a_group_that_ended_begins_anew_without_a_delay():
    """Whoever starts first runs everything; a worker at an old URL gets its own tasks back."""
    group = settled("a.1", "b.1", x=6)
    own = group.assignment.tasks_of("b.1")
    group.workers.clear()
    group.join("c.1", "b.2")

    found = group.settle()

    assert own == found.tasks_of("b.2")
    assert found.assigned == group.configured


def test_a_new_generation_moves_no_task_that_goes_on():
    """3, 5, 1, 5 tasks: those that stay, stay."""
    group = settled("a", "b", "c", x=3)
    for count in (5, 1, 5):
        before = group.assignment
        group.configured = tasks(x=count)
        group.settle()
        if count != 1:
            moved = [one for one in before.assigned if group.assignment.owner(one) != before.owner(one)]
            assert moved == []
    assert sorted(group.counts().values()) == [1, 2, 2]


@pytest.mark.parametrize("protocol", ["sessioned", "eager"])
def test_tasks_that_nobody_fences_are_revoked_before_they_are_gone(protocol):
    """OFF-14: their worker says when they have stopped; one that comes back meanwhile waits for that, too."""
    group = settled("a", "b", protocol=protocol, x=4)
    group.fenced = False
    own = group.assignment.tasks_of("a")
    group.configured = tasks(x=0)
    group.round()
    group.acknowledge("b")
    assert group.round().revoked.keys() == own
    group.configured = tasks(x=4)
    assert not own & group.round().assigned

    assert group.settle().assigned == group.configured


def test_eager_gives_tasks_to_a_worker_that_may_run_them_now():
    """Upgraded under its name: its tasks had gone to the others."""
    group = settled("a", protocol="eager", x=2)
    group.join("b", assignable=False)
    assert group.settle().tasks_of("a") == group.configured

    group.join("b")

    group.settle()
    assert group.counts() == {"a": 1, "b": 1}


def test_a_worker_that_may_not_run_tasks_loses_them():
    """SCN-04: also while lost tasks wait."""
    group = settled("a", "b", "c", x=6)
    own = group.assignment.tasks_of("b")
    del group.workers["c"]
    group.settle()
    group.join("b", assignable=False)

    assert group.settle().tasks_of("b") == frozenset()
    assert own <= group.assignment.tasks_of("a")


def at_number(group: Group, number: int = 999, now: int = 100_000) -> None:
    """As if the group had made many assignments, the newest long ago."""
    group.assignment, group.now = replace(group.assignment, number=number), now


def numbered(count: int, *, first: int = 0) -> frozenset[ConnectorTaskId]:
    """Tasks of connector x."""
    return tasks(x=count) - tasks(x=first)


def owned(**owners: frozenset[ConnectorTaskId]) -> Group:
    """A group whose workers run these tasks, however they came to them."""
    group = settled(*owners)
    group.configured = frozenset().union(*owners.values())
    shares = {name: WorkerShare(f"http://{name}", own) for name, own in owners.items()}
    group.assignment = replace(group.assignment, workers=shares)
    return group


def test_eager_stops_every_task_before_it_gives_any():
    """FEN-15: each worker acknowledges the assignment that revoked its tasks, and has its time for that."""
    group = settled("a", "b", "gone", protocol="eager", x=6)
    own = {name: group.assignment.tasks_of(name) for name in "ab"}
    at_number(group)
    del group.workers["gone"]
    group.configured = tasks(x=5)

    stopped = group.round()

    assert stopped.assigned == frozenset()
    assert stopped.revoked == {
        task: RevokedTask(name, 1000, 160_000) for name in "ab" for task in own[name] & group.configured
    }
    group.settle()
    assert group.counts() == {"a": 3, "b": 2}


@pytest.mark.parametrize("protocol", ["sessioned", "compatible"])
def test_the_last_tasks_of_the_fullest_worker_are_revoked(protocol):
    """FEN-15: what else it has goes on; its acknowledgement of a later assignment counts as well."""
    group = settled("a", protocol=protocol, x=4)
    at_number(group)
    group.join("b")

    assert group.round().revoked == dict.fromkeys(numbered(4, first=2), RevokedTask("a", 1000, 160_000))
    group.workers["a"] = replace(group.workers["a"], acknowledged=1001)
    assert group.round().tasks_of("b") == numbered(4, first=2)


def test_tasks_of_a_worker_that_went_wait_for_it_under_its_name_or_url():
    group = settled("worker-a", "worker-b", x=4)
    own = group.assignment.tasks_of("worker-b")
    at_number(group)
    gone = replace(group.workers.pop("worker-b"), url=None)

    assert group.round().lost == dict.fromkeys(own, LostTask("worker-b", "http://worker-b", 400_000))
    group.workers["worker-b"] = replace(gone, name=b"worker-b".decode())
    assert group.round().tasks_of("worker-b") == own


def test_what_is_past_its_time_is_given_away():
    lost, slow = settled("a", "b", x=4), settled("a", x=4)
    del lost.workers["b"]
    slow.join("b")
    for group, wait in ((lost, DELAY), (slow, REBALANCE)):
        group.round()
        group.now += wait + 1
        assert group.round().assigned == group.configured


def test_more_is_revoked_while_tasks_are_still_being_stopped():
    group = settled("a", x=6)
    group.join("b")
    assert len(group.round().revoked) == 3
    group.join("c")
    assert len(group.round().revoked) == 4


def test_no_worker_keeps_more_than_its_share():
    group = settled("a", "b", x=6)
    group.join("c")

    assert sorted(one.worker for one in group.round().revoked.values()) == ["a", "b"]


def test_an_even_group_is_left_alone():
    """Also where a later worker has the task more, or others are still stopping what this one will get."""
    uneven = owned(a=numbered(1), b=numbered(3, first=1))
    waiting = owned(a=numbered(2), b=frozenset())
    revoked = dict.fromkeys(numbered(6, first=2), RevokedTask("b", waiting.assignment.number + 1, 9))
    waiting.configured, waiting.assignment = tasks(x=6), replace(waiting.assignment, revoked=revoked)

    for group in (uneven, waiting):
        before = group.assignment
        assert before.number == 1
        assert group.round() is before


@pytest.mark.parametrize("count", [1, 3])
def test_eager_comes_to_rest_with_a_task_more_here_than_there(count):
    assert sorted(settled("a", "b", protocol="eager", x=count).counts().values()) == [count // 2, count - count // 2]


def test_eager_gives_anew_after_any_change():
    group = settled("a", "b", protocol="eager", x=2)
    group.join("c")
    assert group.settle().workers.keys() == {"a", "b", "c"}
    del group.workers["c"]
    assert group.settle().workers.keys() == {"a", "b"}
    for count in (1, 3):
        group.configured = tasks(x=count)
        assert group.settle().assigned == group.configured

    group = owned(a=numbered(3), b=numbered(4, first=3))
    group.protocol = "eager"
    assert group.settle().tasks_of("a") == {ConnectorTaskId("x", 0), ConnectorTaskId("x", 2)}
