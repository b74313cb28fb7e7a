"""A worker's place in its group, by what its client of the group says (Kafka Connect's `WorkerCoordinatorTest`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.errors import (
    CommitFailedError,
    EosfwError,
    GroupAuthorizationError,
    InconsistentGroupProtocolError,
    RebalanceInProgressError,
    RetriableError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import GroupAssignment
from eosfw.runtime.group.worker_coordinator import GroupTimeouts, WorkerCoordinator
from pytest_eos.virtual import VirtualRuntime

ONE = TopicPartition("g-members", 0)
FOLLOWER = GroupAssignment(frozenset(), "m", 1, rebalancing=False)
LEADER = GroupAssignment(frozenset({ONE}), "m", 1, rebalancing=False)
JOINING = GroupAssignment()
SESSION, REBALANCE = 9.0, 30.0


class Script:
    """A group whose answers a test chooses; also the client of it."""

    def __init__(self, clock: VirtualRuntime) -> None:
        self.clock = clock
        self.found: GroupAssignment | EosfwError = FOLLOWER
        self.confirmed: EosfwError | None = None
        self.silent = False
        """Whether `confirm` waits in vain for an answer."""
        self.made = self.closed = self.confirmations = self.losses = 0
        self.coordinator = WorkerCoordinator(self.connect, ONE, GroupTimeouts(SESSION, REBALANCE), clock, self.lost)

    def connect(self) -> Script:
        self.made += 1
        return self

    def poll(self, timeout: float) -> GroupAssignment:
        self.clock.sleep(timeout)
        if isinstance(self.found, EosfwError):
            raise self.found
        return self.found

    def confirm(self, timeout: float) -> None:
        self.confirmations += 1
        if self.silent:
            self.clock.sleep(timeout)
            raise RetriableError("no answer")
        if self.confirmed is not None:
            raise self.confirmed

    def close(self, timeout: float = 5.0) -> None:
        self.closed += 1

    def lost(self) -> None:
        self.losses += 1


@pytest.fixture
def script() -> Iterator[Script]:
    with VirtualRuntime() as clock:
        made = Script(clock)
        yield made
        made.coordinator.close()


def test_a_member_is_one_when_the_coordinator_says_so(script):
    """What the client found alone does not make it one."""
    script.confirmed = RebalanceInProgressError("not yet")
    script.coordinator.join(1.0)
    assert not script.coordinator.joined
    assert script.coordinator.term is None

    script.confirmed = None
    assert script.coordinator.confirm(5.0)
    assert script.coordinator.joined


def test_whoever_owns_the_partition_leads(script):
    """Each election counts, so a leader that was elected twice claims twice."""
    script.coordinator.join(5.0)
    terms = []
    for found in (FOLLOWER, LEADER, FOLLOWER, LEADER):
        script.found = found
        script.clock.sleep(1)
        terms.append(script.coordinator.term)
    assert terms == [None, 1, None, 2]


def test_a_worker_that_was_put_out_is_no_member_and_hears_of_it(script):
    """Even where its client still shows what it owned."""
    script.found = LEADER
    script.coordinator.join(5.0)
    script.confirmed = CommitFailedError("the group went on")

    assert not script.coordinator.confirm(5.0)

    assert script.losses == 1
    assert script.coordinator.term is None
    script.confirmed = None
    assert script.coordinator.confirm(5.0)
    assert script.coordinator.term == 2


def test_a_worker_asks_by_itself_whether_it_is_a_member(script):
    """So it stops its tasks although nobody asks; a third of the session timeout apart."""
    script.coordinator.join(5.0)
    before = script.confirmations
    script.clock.sleep(30)
    assert 9 <= script.confirmations - before <= 11

    script.confirmed = CommitFailedError("the group went on")
    script.clock.sleep(SESSION / 3 + 1)
    assert script.losses == 1


def test_a_worker_that_hears_nothing_for_a_session_stops(script, caplog):
    """It was put out by then, though nobody can tell it; the log says why nobody answers."""
    script.coordinator.join(5.0)
    script.silent = True
    script.clock.sleep(SESSION - 2)
    assert script.losses == 0

    script.clock.sleep(6)

    assert script.losses == 1
    assert [line.message for line in caplog.records] == [
        f"the worker has heard nothing of its group for {SESSION:g} s, and stops its tasks: no answer"
    ]
    assert str(script.coordinator.error) == "no answer"
    with pytest.raises(RetriableError, match="did not confirm within 2 s"):
        script.coordinator.confirm(2.0)


def test_a_rebalance_gives_a_worker_its_timeout_as_well(script):
    """Its tasks go on while others join."""
    script.coordinator.join(5.0)
    script.found = GroupAssignment(frozenset(), "m", 1, rebalancing=True)
    script.clock.sleep(REBALANCE)
    assert script.losses == 0

    script.clock.sleep(SESSION + 1)
    assert script.losses == 1


def test_a_client_that_shows_no_generation_any_more_was_put_out(script):
    """Faster than the next question."""
    script.coordinator.join(5.0)
    script.found = JOINING
    script.clock.sleep(1)
    assert script.losses == 1


def test_what_a_user_must_mend_is_raised_at_once(script):
    script.found = GroupAuthorizationError("not allowed to read group g")

    with pytest.raises(GroupAuthorizationError, match="not allowed"):
        script.coordinator.join(30.0)

    assert script.clock.now() < SESSION / 2
    assert script.made == script.closed


def test_a_refusal_that_each_attempt_meets_after_a_while_is_logged_once(script, caplog):
    """A client may answer that it joins before it hears that it may not."""
    script.coordinator.join(5.0)
    polls = iter(range(1000))

    def poll(timeout: float) -> GroupAssignment:
        script.clock.sleep(timeout)
        if next(polls) % 3 < 2:
            return JOINING
        raise GroupAuthorizationError("not allowed to read group g")

    script.poll = poll
    script.clock.sleep(60)

    assert script.made > 5
    assert caplog.messages.count("the worker is not in its group: not allowed to read group g") == 1
    assert isinstance(script.coordinator.error, GroupAuthorizationError), "health says why it is not in its group"


def test_a_client_that_is_not_let_in_for_long_is_replaced(script, caplog):
    """Its certificate may have been renewed on disk since it was made; a rebalance gets its time before."""
    script.found = JOINING
    script.coordinator.join(5.0)
    script.clock.sleep(2 * (SESSION + REBALANCE) - 10)
    assert script.made == 1

    script.clock.sleep(20)

    assert (script.made, script.closed) == (2, 1)
    assert caplog.messages == ["the worker is not in its group: its coordinator has not let this worker in for 78 s"]


def test_a_group_of_another_kind_is_refused_when_its_members_outlive_a_session(script):
    """Until then they may have been killed: nobody knows before their sessions are over."""
    script.found = InconsistentGroupProtocolError("protocol")

    with pytest.raises(InconsistentGroupProtocolError, match=r"a Kafka Connect group.*is alive"):
        script.coordinator.join(30.0)

    assert SESSION < script.clock.now() < SESSION + 5
    assert script.made == script.closed


def test_a_group_of_another_kind_whose_members_are_gone_is_taken_over(script):
    script.found = InconsistentGroupProtocolError("protocol")
    script.coordinator.join(SESSION - 1)
    assert (script.coordinator.joined, script.coordinator.error) == (False, None)

    script.found = FOLLOWER
    script.clock.sleep(3)

    assert script.coordinator.joined


def test_a_cluster_that_does_not_answer_is_asked_again(script):
    """It goes on in the background."""
    script.found = RetriableError("no broker answered")
    script.coordinator.join(3.0)
    assert not script.coordinator.joined

    script.found = FOLLOWER
    script.clock.sleep(5)

    assert script.coordinator.joined
    assert script.coordinator.error is None
    assert script.made == script.closed + 1


def test_a_worker_that_rejoins_stays_away_for_a_session(script):
    """Else the group might elect it again."""
    script.found = LEADER
    script.coordinator.join(5.0)
    script.coordinator.rejoin()
    script.clock.sleep(SESSION - 1)
    assert (script.made, script.closed, script.losses) == (1, 1, 1)
    assert not script.coordinator.confirm(1.0)

    script.clock.sleep(3)

    assert script.made == 2
    assert script.coordinator.term == 2
