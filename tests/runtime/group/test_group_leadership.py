"""When an elected worker claims the privilege to write."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import NotLeaderError
from eosfw.ids import ConnectorTaskId, TopicPartition
from eosfw.runtime.group.leadership import GroupLeadership
from eosfw.runtime.group.services import CLIENT_ID, MembershipServices, MembershipSettings
from eosfw.state.group.assignment import ClusterAssignment, WorkerShare, assign
from eosfw.state.group.member_records import MembersLog, WorkerRecord
from eosfw.state.storage.config_records import ConfigRecord


class Elected:
    """A coordinator, leader and members topic that note what is asked of them."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.term: int | None = 1
        self.calls: list[str] = []

    def confirm(self, timeout: float) -> bool:
        self.calls.append("confirm")
        return self.answers.pop(0)

    def start(self) -> None:
        self.calls.append("claim")

    def read_to_end(self) -> None:
        self.calls.append("read")
        raise InterruptedError


def leadership(elected: Any, runtime: Any = None) -> GroupLeadership:
    settings = MembershipSettings(group_id="g", worker="w", url=None, support="enabled", version="1")
    services = MembershipServices(
        settings=settings,
        backend=elected,
        members=elected,
        leader=elected,
        announce=lambda _: None,
        runtime=runtime or ThreadRuntime(),
        wake=lambda: None,
    )
    return GroupLeadership(services, elected)


def test_the_coordinator_is_asked_right_before_the_claim():
    """LDR-04: an elected worker that slept would fence the rightful leader."""
    slept = Elected(False)
    with pytest.raises(NotLeaderError):
        leadership(slept).run({})
    assert slept.calls == ["confirm"]

    awake = Elected(True)
    with pytest.raises(InterruptedError):
        leadership(awake).run({})
    assert awake.calls == ["confirm", "claim", "read"]


def test_a_follower_claims_nothing():
    follower = Elected()
    follower.term = None
    leading = leadership(follower)

    leading.run({})

    assert follower.calls == []
    assert not leading.leads


class Group:
    """The only worker of a group, whose publications take some time; it is its own members topic and admin client."""

    term = 1
    partition = TopicPartition("members", 0)

    def __init__(self) -> None:
        self.time = 100.0
        self.assignment = ClusterAssignment()
        self.published: list[int] = []

    def now(self) -> float:
        return self.time

    wall = now

    def confirm(self, timeout: float) -> bool:
        return True

    def nothing(self) -> None:
        pass

    start = read_to_end = close = nothing

    def admin(self) -> Any:
        return self

    def describe_group(self, group_id: str) -> Any:
        return SimpleNamespace(members=[SimpleNamespace(client_id=f"{CLIENT_ID}w")])

    def workers(self) -> dict[str, WorkerRecord]:
        return {"w": WorkerRecord("w", None, "enabled", "1.0", 0)}

    def publish(self, topic: str, records: Sequence[ConfigRecord], number: int) -> None:
        self.time += 0.02
        log = MembersLog()
        log.apply(*records[0])
        self.assignment = log.assignment
        self.published.append(len(log.assignment.tasks_of("w")))


def test_an_assignment_is_made_anew_only_when_something_it_follows_from_has_changed(monkeypatch):
    """Also while tasks of a worker that is gone wait for it: that ends at a known time."""
    made = []

    def counted(previous, state):
        made.append(state.now)
        return assign(previous, state)

    monkeypatch.setattr("eosfw.runtime.group.leadership.assign", counted)
    group = Group()
    lost, tasks = ConnectorTaskId("c", 0), frozenset({ConnectorTaskId("c", 0)})
    gone = WorkerShare("http://gone:1", tasks)
    group.assignment = ClusterAssignment(1, "gone", workers={"gone": gone, "w": WorkerShare()})
    leading = leadership(group, runtime=group)

    for _ in range(290):
        leading.run(tasks)
        group.time += 1.0
    assert len(made) == 2, "once to keep the task for its worker, once to see that nothing else is to be done"
    assert group.assignment.lost.keys() == {lost}

    for _ in range(20):
        leading.run(tasks)
        group.time += 1.0
    assert group.assignment.tasks_of("w") == tasks
    assert len(made) == 4


def test_a_clock_that_is_set_back_lets_tasks_of_a_lost_worker_wait_no_longer_than_they_may():
    """Five minutes by default, here from when the clock was set back, not an hour and five minutes."""
    group = Group()
    tasks = frozenset({ConnectorTaskId("c", 0)})
    group.assignment = ClusterAssignment(
        1, "gone", workers={"gone": WorkerShare("http://gone:1", tasks), "w": WorkerShare()}
    )
    leading = leadership(group, runtime=group)
    leading.run(tasks)
    group.time += 1.0
    leading.run(tasks)

    group.wall = lambda: group.time - 3600.0
    for _ in range(620):
        group.time += 1.0
        leading.run(tasks)

    assert group.assignment.tasks_of("w") == tasks


def test_tasks_that_come_one_after_the_other_are_assigned_together():
    """An assignment holds all tasks, so that one for each new task would cost the square of their number."""
    group = Group()
    leading = leadership(group, runtime=group)
    for count in range(1, 201):
        leading.run(frozenset(ConnectorTaskId("c", number) for number in range(count)))
        group.time += 0.005

    assert group.published[0] == 1, "the first does not wait"
    assert len(group.published) <= 6
    group.time += 1.0
    leading.run(frozenset(ConnectorTaskId("c", number) for number in range(200)))
    assert group.published[-1] == 200
