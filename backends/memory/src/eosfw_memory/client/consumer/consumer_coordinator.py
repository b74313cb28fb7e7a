"""The membership of one client in a consumer group, as a state machine without clock, thread and socket.

Kafka's `AbstractCoordinator` and `ConsumerCoordinator`, for the classic group protocol with incremental cooperative
rebalances (KIP-429). It says which request is due, and takes the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

from eosfw.error_table import RETRIABLE
from eosfw.ids import TopicPartition
from eosfw.protocols import GroupAssignment
from eosfw_memory.client.consumer import cooperative_sticky
from eosfw_memory.client.transport.apis import HEARTBEAT, JOIN_GROUP, SYNC_GROUP, Api, Fields, milliseconds
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import (
    CONSUMER,
    NO_GENERATION,
    Subscription,
    decode_assignment,
    encode_assignment,
)

_NO_MEMBER = ""
_NO_EPOCH: Final = -1
_BACKOFF = 0.1
"""Seconds before a request is repeated that failed for a passing reason (Kafka's `retry.backoff.ms`)."""
_JOIN_GRACE = 5.0
"""Seconds beyond the rebalance timeout in which a coordinator answers JoinGroup and SyncGroup."""
EXPELLED = frozenset({Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.FENCED_INSTANCE_ID})
"""The group does not know the member any more, or not in this generation."""
PASSING = RETRIABLE | EXPELLED | {Code.MEMBER_ID_REQUIRED, Code.REBALANCE_IN_PROGRESS}
"""Error codes that the next requests make good."""


class MemberState(Enum):
    """Where a member stands, by the names of Kafka's `AbstractCoordinator.MemberState`."""

    UNJOINED = "unjoined"
    """JoinGroup has to be sent."""
    PREPARING_REBALANCE = "joining"
    """JoinGroup was sent; its answer comes when every member has sent it."""
    COMPLETING_REBALANCE = "syncing"
    """The member has joined the generation; its assignment is awaited."""
    STABLE = "stable"
    """It has its assignment; heartbeats are due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRebalanceConfig:
    """The group and the timings of one member (Kafka's `GroupRebalanceConfig`); durations in seconds."""

    group_id: str
    topic: str
    session_timeout: float
    rebalance_timeout: float
    heartbeat_interval: float


class GroupRequest(NamedTuple):
    """A request that is due, and how long its answer may take."""

    api: Api
    fields: Fields
    timeout: float


class ConsumerCoordinator:
    """The membership of one client; every time is given, nothing waits."""

    def __init__(self, settings: GroupRebalanceConfig) -> None:
        self._settings = settings
        self.state = MemberState.UNJOINED
        self._member_id = _NO_MEMBER
        self._generation = NO_GENERATION
        self._owned: frozenset[TopicPartition] = frozenset()
        self._members: Mapping[str, Subscription] = {}
        """The subscription of every member, if this one leads the generation that is being completed."""
        self._assigned: Mapping[str, frozenset[TopicPartition]] | None = None
        self._due_at = float("-inf")

    @property
    def assignment(self) -> GroupAssignment:
        """What the member owns now."""
        return GroupAssignment(
            self._owned, self._member_id, self._generation, rebalancing=self.state is not MemberState.STABLE
        )

    @property
    def due_at(self) -> float:
        """When the next request is due."""
        return self._due_at

    # --- requests

    def topics_to_assign(self) -> frozenset[str]:
        """The topics whose partitions this member, as the leader, has to assign before its next request."""
        if self.state is not MemberState.COMPLETING_REBALANCE or self._assigned is not None:
            return frozenset()
        return frozenset().union(*(each.topics for each in self._members.values()))

    def assign(self, partition_counts: Mapping[str, int]) -> None:
        """Assign, as the leader, the partitions of topics with so many each."""
        self._assigned = cooperative_sticky.assign(partition_counts, self._members)

    def next_request(self) -> GroupRequest:
        """The request that is due; its answer, or that none came, has to be told before the next one is asked for."""
        settings, state = self._settings, self.state
        rebalance = settings.rebalance_timeout + _JOIN_GRACE
        if state is MemberState.UNJOINED:
            self.state = MemberState.PREPARING_REBALANCE
            return GroupRequest(JOIN_GROUP, self._join_request(), rebalance)
        if state is MemberState.COMPLETING_REBALANCE:
            return GroupRequest(SYNC_GROUP, self._sync_request(), rebalance)
        return GroupRequest(HEARTBEAT, Fields(**self._identity()), settings.session_timeout)

    def commit_request(self) -> Fields:
        """A commit of no meaning but that this member makes it in its generation."""
        one = Fields(partition_index=0, committed_offset=0, committed_leader_epoch=_NO_EPOCH, committed_metadata="")
        topics = [Fields(name=self._settings.topic, partitions=[one])]
        return Fields(**self._identity(), generation_id_or_member_epoch=self._generation, topics=topics)

    def leave_request(self) -> Fields | None:
        """The request to leave the group; None for a client that never was a member."""
        if self._member_id == _NO_MEMBER:
            return None
        member = Fields(member_id=self._member_id, group_instance_id=None, reason="the consumer is being closed")
        return Fields(group_id=self._settings.group_id, members=[member])

    def _identity(self) -> dict[str, Any]:
        return {
            "group_id": self._settings.group_id,
            "generation_id": self._generation,
            "member_id": self._member_id,
            "group_instance_id": None,
        }

    def _join_request(self) -> Fields:
        settings = self._settings
        subscription = Subscription(frozenset({settings.topic}), self._owned, self._generation)
        return Fields(
            group_id=settings.group_id,
            session_timeout=milliseconds(settings.session_timeout),
            rebalance_timeout=milliseconds(settings.rebalance_timeout),
            member_id=self._member_id,
            group_instance_id=None,
            protocol_type=CONSUMER,
            protocols=[Fields(name=cooperative_sticky.NAME, metadata=subscription.encode())],
            reason=None,
        )

    def _sync_request(self) -> Fields:
        assigned = (self._assigned or {}).items()
        return Fields(
            **self._identity(),
            protocol_type=CONSUMER,
            protocol_name=cooperative_sticky.NAME,
            assignments=[Fields(member_id=name, assignment=encode_assignment(own)) for name, own in assigned],
        )

    # --- answers

    def on_answer(self, api: Api, answer: Any, now: float) -> int:
        """Take an answer; return its error code, which is one of PASSING where the next requests make it good."""
        code = int(answer["error_code"])
        if code != Code.NONE:
            self._on_error(code, answer, now)
        elif api is JOIN_GROUP:
            self._on_joined(answer)
        elif api is SYNC_GROUP:
            self._on_assigned(answer, now)
        else:
            self._due_at = now + self._settings.heartbeat_interval
        return code

    def on_no_answer(self, now: float) -> None:
        """Nobody answered: send the request again after a pause."""
        if self.state is not MemberState.STABLE:
            self.state = MemberState.UNJOINED
        self._due_at = now + _BACKOFF

    def rejoin(self, now: float) -> None:
        """Join the generation that begins; the partitions stay (KIP-429)."""
        self.state, self._due_at = MemberState.UNJOINED, now

    def on_lost(self, now: float) -> None:
        """The group went on without this member: whatever it owned is lost, and it joins as a new one."""
        self._member_id, self._generation, self._owned = _NO_MEMBER, NO_GENERATION, frozenset()
        self.rejoin(now)

    def _on_joined(self, answer: Any) -> None:
        self._member_id, self._generation = answer["member_id"], answer["generation_id"]
        self._members = {each["member_id"]: Subscription.decode(each["metadata"]) for each in answer["members"]}
        self._assigned = None if self._members else {}
        self.state = MemberState.COMPLETING_REBALANCE

    def _on_assigned(self, answer: Any, now: float) -> None:
        before, self._owned = self._owned, decode_assignment(answer["assignment"])
        self.state, self._due_at = MemberState.STABLE, now + self._settings.heartbeat_interval
        if before - self._owned:
            # What was revoked goes to its new owner in the next generation.
            self.rejoin(now)

    def _on_error(self, code: int, answer: Any, now: float) -> None:
        if code == Code.MEMBER_ID_REQUIRED:
            self._member_id = answer["member_id"]
            self.rejoin(now)
        elif code in EXPELLED:
            self.on_lost(now)
        elif code == Code.REBALANCE_IN_PROGRESS and self.state is MemberState.STABLE:
            self.rejoin(now)
        else:
            self.on_no_answer(now)
