"""Who runs what, after any history of a group."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from eosfw.ids import ConnectorTaskId
from eosfw.state.group.assignment import (
    ClusterAssignment,
    GroupState,
    LiveWorker,
    LostTask,
    RevokedTask,
    WorkerShare,
    assign,
)
from eosfw.state.group.member_records import MembersLog, assignment_record

REBALANCE, DELAY = 60_000, 300_000


def tasks(**counts: int) -> frozenset[ConnectorTaskId]:
    return frozenset(ConnectorTaskId(name, number) for name, count in counts.items() for number in range(count))


class Group:
    """A group whose workers acknowledge when they are told to; time passes when it is told to."""

    def __init__(self, protocol: str = "sessioned", max_delay: int = DELAY, *, fenced: bool = True) -> None:
        self.protocol, self.max_delay, self.fenced = protocol, max_delay, fenced
        self.workers: dict[str, LiveWorker] = {}
        self.configured: frozenset[ConnectorTaskId] = frozenset()
        self.now = 0
        self.assignment = ClusterAssignment()

    def state(self) -> GroupState:
        return GroupState(
            leader=min(self.workers),
            configured=self.configured,
            workers=tuple(self.workers.values()),
            now=self.now,
            protocol=self.protocol,
            rebalance_timeout=REBALANCE,
            max_delay=self.max_delay,
            fenced=self.fenced,
        )

    def join(self, *names: str, assignable: bool = True) -> None:
        for name in names:
            url = f"http://{name.partition('.')[0]}"
            self.workers[name] = LiveWorker(name, url, self.assignment.number, assignable)

    def acknowledge(self, *names: str) -> None:
        for name in names:
            self.workers[name] = replace(self.workers[name], acknowledged=self.assignment.number)

    def round(self) -> ClusterAssignment:
        if self.workers:
            self.assignment = assign(self.assignment, self.state())
        return self.assignment

    def settle(self, seconds: float = 0) -> ClusterAssignment:
        self.now += int(seconds * 1000)
        for _ in range(10):
            before = self.assignment
            self.acknowledge(*self.workers)
            self.round()
            if self.assignment is before:
                return before
        raise AssertionError(f"it does not come to rest: {self.assignment}")

    def counts(self) -> dict[str, int]:
        return {name: len(share.tasks) for name, share in self.assignment.workers.items()}


def settled(*names: str, protocol: str = "sessioned", max_delay: int = DELAY, **connectors: int) -> Group:
    group = Group(protocol, max_delay)
    group.join(*names)
    group.configured = tasks(**connectors)
    group.settle()
    return group


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


class Histories(RuleBasedStateMachine):
    """Any history: workers come, go, come back and are slow; connectors change; time passes."""

    protocol, fenced = "sessioned", True

    def __init__(self) -> None:
        super().__init__()
        self.group = Group(self.protocol, fenced=self.fenced)
        self.group.join("w0")

    @rule(worker=st.integers(0, 4), life=st.integers(0, 2), assignable=st.sampled_from([True, True, True, False]))
    def join(self, worker: int, life: int, *, assignable: bool) -> None:
        self.group.join(f"w{worker}.{life}", assignable=assignable)

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        if len(self.group.workers) > 1:
            del self.group.workers[data.draw(st.sampled_from(sorted(self.group.workers)))]

    @rule(counts=st.lists(st.integers(0, 6), max_size=3))
    def configure(self, counts: list[int]) -> None:
        self.group.configured = tasks(**{f"c{place}": count for place, count in enumerate(counts)})

    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        self.group.acknowledge(data.draw(st.sampled_from(sorted(self.group.workers))))

    @rule(seconds=st.sampled_from([0.001, 30, 60, 300]))
    def wait(self, seconds: float) -> None:
        self.group.now += int(seconds * 1000)

    @rule()
    def round(self) -> None:
        before = self.group.assignment
        after = self.group.round()
        again = assign(after, self.group.state())
        assert again is after, "not stable under replay"
        assert after.number == before.number + (after is not before)
        for name, share in after.workers.items():
            taken = share.tasks & frozenset().union(
                *(other.tasks for owner, other in before.workers.items() if owner != name and owner in after.workers)
            )
            assert not taken, f"{taken} moved to {name} without being revoked first"
        self.check_partition(after)

    def check_partition(self, found: ClusterAssignment) -> None:
        shares = [share.tasks for share in found.workers.values()]
        everything = [*(one for share in shares for one in share), *found.revoked, *found.lost]
        assert len(everything) == len(set(everything)), "a task twice"
        if not self.fenced:
            everything = [one for one in everything if one in self.group.configured or one not in found.revoked]
        may_run = {name for name, one in self.group.workers.items() if one.assignable}
        if may_run and self.protocol != "eager":
            assert set(everything) == self.group.configured, "a task is missing"
        assert set(everything) <= self.group.configured

    @rule()
    def settle(self) -> None:
        before = self.group.assignment
        self.group.round()
        after = self.group.settle(seconds=DELAY / 1000)
        may_run = [name for name, one in self.group.workers.items() if one.assignable]
        assert not after.revoked
        assert not after.lost
        if may_run:
            assert after.assigned == self.group.configured
            loads = [len(after.tasks_of(name)) for name in may_run]
            assert max(loads) - min(loads) <= 1
            if self.protocol != "eager":
                self.check_moves(before, after, may_run)

    def check_moves(self, before: ClusterAssignment, after: ClusterAssignment, may_run: list[str]) -> None:
        """No task leaves a worker that may keep it: what it has above its share is all that it loses."""
        most = math.ceil(len(self.group.configured) / len(may_run))
        least = len(self.group.configured) // len(may_run)
        for name in may_run:
            had = before.tasks_of(name) & self.group.configured
            if not before.lost and not before.revoked and before.workers.keys() == after.workers.keys():
                moved = had - after.tasks_of(name)
                assert len(moved) <= max(0, len(had) - least)
                assert not moved or len(after.tasks_of(name)) in {least, most}

    @invariant()
    def records_give_back_what_was_written(self) -> None:
        log = MembersLog()
        record = assignment_record(self.group.assignment)
        assert log.apply(*record) is None
        assert log.assignment == self.group.assignment


class EagerHistories(Histories):
    protocol = "eager"


class UnfencedHistories(Histories):
    fenced = False


class UnfencedEagerHistories(EagerHistories):
    fenced = False


TestHistories = Histories.TestCase
TestEagerHistories = EagerHistories.TestCase
TestUnfencedHistories = UnfencedHistories.TestCase
TestUnfencedEagerHistories = UnfencedEagerHistories.TestCase
