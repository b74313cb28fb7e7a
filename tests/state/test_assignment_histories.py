"""Who runs what, after any history of a group."""

from __future__ import annotations

import math

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from eosfw.state.group.assignment import ClusterAssignment, assign
from eosfw.state.group.member_records import MembersLog, assignment_record

from .worker_group import DELAY, Group, tasks


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
