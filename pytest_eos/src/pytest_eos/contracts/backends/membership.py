"""The contract of a backend's group consumers: who is alive, and who owns what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from eosfw.errors import CommitFailedError, IllegalStateError, RebalanceInProgressError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import GroupDescription
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.group_member import GroupMember, MemberProcess
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness

HEARTBEAT_MS = "100"
LONG = 4 * WAIT
"""The session timeout, in seconds, of members that stay: no test waits for it, and no busy machine misses it."""


class GroupHarness:
    """A group with a topic of one partition; its members are closed after the test."""

    def __init__(self, lab: BackendHarness) -> None:
        self.lab = lab
        self.group_id, self.topic = lab.group(), lab.topic()
        self.partition = TopicPartition(self.topic, 0)
        self._members: list[GroupMember] = []

    def arguments(self, client_id: str, timeout: float = LONG) -> Mapping[str, Any]:
        """The arguments of `group_consumer`."""
        return {
            "group_id": self.group_id,
            "topic": self.topic,
            "client_id": client_id,
            "session_timeout": timeout,
            "rebalance_timeout": timeout,
            "properties": {"heartbeat.interval.ms": HEARTBEAT_MS},
        }

    def join(self, client_id: str, timeout: float = LONG) -> GroupMember:
        """A new member, which polls on a thread of its own."""
        arguments = self.arguments(client_id, timeout)
        member = GroupMember(self.lab.runtime, lambda: self.lab.backend.group_consumer(**arguments), client_id)
        self._members.append(member)
        return member

    def description(self) -> GroupDescription:
        """The group as its coordinator shows it."""
        return self.lab.admin.describe_group(self.group_id)

    def owns(self, member: GroupMember) -> bool:
        """Whether a member owns the partition by what it polled last."""
        return member.assignment.partitions == {self.partition}

    def settle(self, *members: GroupMember) -> list[GroupMember]:
        """Wait until the group consists of these members and one of them owns the partition; return the owners."""
        self.lab.until(self.description, lambda found: found.state == "Stable" and len(found.members) == len(members))
        self.lab.until(lambda: [one.error or one.assignment for one in members], lambda _: self._is_shared(members))
        return [one for one in members if self.owns(one)]

    def _is_shared(self, members: tuple[GroupMember, ...]) -> bool:
        return not any(one.assignment.rebalancing for one in members) and sum(map(self.owns, members)) == 1

    def confirm(self, member: GroupMember) -> None:
        """Have a polling member confirmed, as soon as it has joined and no rebalance is under way."""

        def is_confirmed() -> bool:
            try:
                member.confirm()
            except (CommitFailedError, RebalanceInProgressError):
                return False
            return True

        self.lab.until(is_confirmed, bool)

    def close(self) -> None:
        """Close every member."""
        for member in self._members:
            member.close()


class MembershipContract(BackendUnderTestFixtures):
    """Inherit it, define the fixtures `backend` and `connection`: the properties that the backend was connected with.

    `session_timeout` may be overridden where the cluster allows a shorter one.
    """

    @pytest.fixture
    def connection(self) -> Mapping[str, str]:
        """The properties of a client that a process of its own connects with."""
        raise pytest.UsageError(f"{type(self).__name__}: define a fixture `connection` that returns client properties")

    @pytest.fixture
    def session_timeout(self) -> float:
        """The shortest session timeout that the cluster allows; Kafka's default of `group.min.session.timeout.ms`.

        Only members that are to be lost have it: a busy machine would lose the others with it, too.
        """
        return 6.0

    @pytest.fixture
    def group(self, lab: BackendHarness) -> Iterator[GroupHarness]:
        """A group without members."""
        group = GroupHarness(lab)
        yield group
        group.close()

    def test_one_of_two_members_owns_the_partition(self, group: GroupHarness) -> None:
        """KIP-429: and the coordinator confirms both, since whoever owns nothing may ask as well."""
        first, second = group.join("first"), group.join("second")

        owners = group.settle(first, second)

        assert len(owners) == 1
        group.confirm(first)
        group.confirm(second)

    def test_an_owner_stays_the_owner_when_others_join(self, group: GroupHarness) -> None:
        """KIP-429, cooperative-sticky: leadership stays where it is."""
        owner = group.join("owner")
        group.settle(owner)

        second = group.join("second")
        group.settle(owner, second)
        third = group.join("third")

        assert group.settle(owner, second, third) == [owner]
        group.confirm(owner)

    def test_a_member_that_closes_hands_over_at_once(self, group: GroupHarness) -> None:
        """LeaveGroup: nobody waits for the session timeout, which is longer than this test may take."""
        owner = group.join("owner")
        group.settle(owner)
        heir = group.join("heir")
        group.settle(owner, heir)

        owner.close()

        assert group.settle(heir) == [heir]
        group.confirm(heir)

    def test_a_member_that_stops_polling_is_replaced(self, group: GroupHarness, session_timeout: float) -> None:
        """After its timeout; its ownership is not confirmed then. Once it polls, it is a member again."""
        # Member ids begin with client ids, and assignors decide a tie by them: a claim of the first of two would win.
        owner = group.join("first", session_timeout)
        group.settle(owner)
        owner.pause()
        heir = group.join("second")
        assert group.settle(heir) == [heir]
        group.confirm(heir)

        with pytest.raises(CommitFailedError, match=group.group_id):
            owner.confirm()

        owner.resume()
        # On a busy machine the owner may be lost and join again some times; its heir cannot, and keeps the partition.
        assert group.settle(heir, owner) == [heir]
        group.confirm(owner)

    def test_a_member_frozen_and_woken_is_not_confirmed(
        self, group: GroupHarness, connection: Mapping[str, str], session_timeout: float
    ) -> None:
        """SCN-01: a whole process stops, another member takes over, and the first thing that wakes is a `confirm`."""
        with MemberProcess(group.lab.backend, connection, group.arguments("sleeper", session_timeout)) as sleeper:
            sleeper.freeze()
            heir = group.join("heir")
            group.settle(heir)

            sleeper.wake()

            assert sleeper.confirm() == CommitFailedError.__name__
        group.confirm(heir)

    def test_the_group_shows_client_ids_and_owned_partitions(self, group: GroupHarness) -> None:
        """Admin: the members of a worker group are known by the client ids that they chose."""
        names = ["worker one http://127.0.0.1:8083/", "worker two http://127.0.0.1:8084/"]
        members = {name: group.join(name) for name in names}
        group.settle(*members.values())

        found = group.description()

        assert (found.group_id, found.state, found.protocol_type) == (group.group_id, "Stable", "consumer")
        assert {one.client_id: one.partitions for one in found.members} == {
            name: member.assignment.partitions for name, member in members.items()
        }
        assert {one.member_id for one in found.members} == {one.assignment.member_id for one in members.values()}
        assert all(one.host for one in found.members)

    def test_an_unknown_group_is_dead_without_members(self, lab: BackendHarness) -> None:
        """Admin: no error, since a group that nobody has joined yet is nothing bad."""
        name = lab.name()

        assert lab.admin.describe_group(name) == GroupDescription(name, "Dead")

    def test_a_group_whose_members_left_is_empty(self, group: GroupHarness) -> None:
        """Admin: an empty group keeps its id, and anybody may join it."""
        member = group.join("only")
        group.settle(member)
        group.confirm(member)

        member.close()

        found = group.lab.until(group.description, lambda found: not found.members)
        assert (found.state, found.protocol_type) == ("Empty", "consumer")

    def test_a_topic_that_does_not_exist_is_named(self, lab: BackendHarness) -> None:
        """A member must not wait for ever for a topic that nobody has made."""
        topic = lab.name()
        consumer = lab.backend.group_consumer(lab.group(), topic, client_id="lost")
        try:
            with pytest.raises(UnknownTopicOrPartitionError, match=topic):
                consumer.poll(WAIT)
        finally:
            consumer.close(WAIT)

    def test_a_closed_member_refuses_every_call(self, group: GroupHarness) -> None:
        """Common rules of the protocols: closing twice does no harm."""
        consumer = group.lab.backend.group_consumer(**group.arguments("closed"))
        consumer.close(WAIT)
        consumer.close(WAIT)

        with pytest.raises(IllegalStateError):
            consumer.poll(0.0)
        with pytest.raises(IllegalStateError):
            consumer.confirm(WAIT)

    def test_an_unreachable_cluster_gives_no_assignment(self, lab: BackendHarness) -> None:
        """A poll looks for the cluster until its timeout; it neither fails nor hangs, and nothing is confirmed."""
        nowhere = type(lab.backend).connect({"bootstrap.servers": "127.0.0.1:1"}, lab.runtime)
        consumer = nowhere.group_consumer("group", "topic", client_id="lost")
        try:
            assert consumer.poll(0.5).partitions == frozenset()
            with pytest.raises(CommitFailedError):
                consumer.confirm(0.5)
        finally:
            consumer.close(WAIT)
            nowhere.close()
