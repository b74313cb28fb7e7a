"""One consumer group: its members, its epochs, its target assignment. Kafka's `ConsumerGroup`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final
from uuid import UUID

from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import CONSUMER
from eosfw_memory.server.coordinators.groups.membership.members import Protocols
from eosfw_memory.server.coordinators.groups.modern.changes import (
    Change,
    ChangeKind,
    GroupMetadata,
    PartitionMetadata,
    ResolvedRegularExpression,
    TargetAssignment,
    TargetAssignmentMetadata,
    Value,
    put,
)
from eosfw_memory.server.coordinators.groups.modern.member import (
    LEAVE_GROUP_EPOCH,
    NOTHING,
    Assignment,
    ConsumerGroupMember,
    CurrentAssignment,
    MemberMetadata,
)
from eosfw_memory.server.coordinators.groups.modern.member_timers import MemberTimers

_K = ChangeKind


class ConsumerGroupState(Enum):
    """Where a group stands; the values are the names that requests show."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The target assignment is older than the group's epoch."""
    RECONCILING = "Reconciling"
    """Some member does not have yet what the target assignment gives it."""
    STABLE = "Stable"

    __hash__ = object.__hash__  # Python's own for enumerations is not written in C


class ConsumerGroup:
    """One group, made by nothing but its changes."""

    group_type: Final = "consumer"
    protocol_type: Final = CONSUMER

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by group.instance.id."""
        self.target: dict[str, Assignment] = {}
        """What each member shall have."""
        self.owners: dict[UUID, dict[int, str]] = {}
        """Which member has each partition, or has not given it up yet: known by each change, since all members ask."""
        self.regexes: dict[str, ResolvedRegularExpression] = {}
        self.has_partition_metadata = False
        """Whether the log has what Kafka before 4.1 kept of the subscribed topics."""
        self._subscribed_topics: frozenset[str] | None = None
        # What follows is not logged.
        self.topics_version = -1
        """The version of the topics that the group was last compared with."""
        self.timers = MemberTimers()

    def copy(self) -> ConsumerGroup:
        """The same group, to try changes on."""
        other = ConsumerGroup(self.group_id)
        other.epoch, other.metadata_hash, other.assignment_epoch = self.epoch, self.metadata_hash, self.assignment_epoch
        other.members, other.static_members = self.members.copy(), self.static_members.copy()
        other.target, other.regexes = self.target.copy(), self.regexes.copy()
        other.owners = {topic_id: owners.copy() for topic_id, owners in self.owners.items()}
        other.has_partition_metadata = self.has_partition_metadata
        other._subscribed_topics = self._subscribed_topics
        other.topics_version = self.topics_version
        return other

    # --- what is known

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def subscribed_topics(self) -> frozenset[str]:
        """The names of all topics that any member has subscribed to, whether they exist or not."""
        if self._subscribed_topics is None:
            names = (member.metadata.topic_names for member in self.members.values())
            matching = (self.regexes[regex].topics for regex in self.subscribed_regexes() if regex in self.regexes)
            self._subscribed_topics = frozenset().union(*names, *matching)
        return self._subscribed_topics

    def subscribed_regexes(self) -> set[str]:
        """The regular expressions of all members."""
        return {member.metadata.topic_regex for member in self.members.values()} - {""}

    def supports_classic(self, protocols: Protocols) -> bool:
        """Whether a member with these could join by the classic protocol: those that do support one of them."""
        members = (member.metadata.classic for member in self.members.values())
        known = [{name for name, _ in classic.protocols} for classic in members if classic is not None]
        return any(all(name in names for names in known) for name, _ in protocols)

    def topics_of(self, member: ConsumerGroupMember) -> frozenset[str]:
        """The names of the topics that a member has subscribed to."""
        names, regex = member.metadata.subscription
        resolved = self.regexes.get(regex)
        return names if resolved is None else names | resolved.topics

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members have the same subscription, of one kind; Kafka's `SubscriptionType`."""
        subscriptions = {member.metadata.subscription for member in self.members.values()}
        return len(subscriptions) <= 1 and not any(names and regex for names, regex in subscriptions)

    # --- changes

    def apply(self, change: Change) -> None:
        """Make one change."""
        if change.value is None:
            self._forget(change.kind, change.name)
        else:
            self._put(change.name, change.value)

    def _put(self, name: str, value: Value) -> None:
        if isinstance(value, GroupMetadata):
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
        elif isinstance(value, MemberMetadata):
            self._put_member(ConsumerGroupMember(name, value, self._member(name).current))
        elif isinstance(value, CurrentAssignment):
            self._put_current(name, value)
        elif isinstance(value, TargetAssignmentMetadata):
            self.assignment_epoch = value.assignment_epoch
        elif isinstance(value, TargetAssignment):
            self.target[name] = value.partitions
        elif isinstance(value, ResolvedRegularExpression):
            self.regexes[name] = value
            self._subscribed_topics = None
        elif isinstance(value, PartitionMetadata):
            self.has_partition_metadata = True

    def _member(self, member_id: str) -> ConsumerGroupMember:
        return self.members.get(member_id) or ConsumerGroupMember(member_id)

    def _put_member(self, member: ConsumerGroupMember) -> None:
        self.members[member.member_id] = member
        if member.metadata.instance_id is not None:
            self.static_members[member.metadata.instance_id] = member.member_id
        self._subscribed_topics = None

    def _put_current(self, name: str, current: CurrentAssignment) -> None:
        member = self._member(name)
        self._release(member)
        self.members[name] = ConsumerGroupMember(name, member.metadata, current)
        for topic_id, partitions in _held(current):
            self.owners.setdefault(topic_id, {}).update(dict.fromkeys(partitions, name))

    def _release(self, member: ConsumerGroupMember) -> None:
        for topic_id, partitions in _held(member.current):
            owners = self.owners.get(topic_id, {})
            for number in partitions:
                if owners.get(number) == member.member_id:
                    del owners[number]
            if not owners:
                self.owners.pop(topic_id, None)

    def _forget(self, kind: ChangeKind, name: str) -> None:
        if kind is _K.MEMBER_METADATA:
            self._remove_member(name)
        elif kind is _K.CURRENT_MEMBER_ASSIGNMENT and name in self.members:
            self._put_current(name, CurrentAssignment(LEAVE_GROUP_EPOCH, LEAVE_GROUP_EPOCH))
        elif kind is _K.TARGET_ASSIGNMENT_MEMBER:
            self.target.pop(name, None)
        elif kind is _K.TARGET_ASSIGNMENT_METADATA:
            self.assignment_epoch = -1
        elif kind is _K.REGULAR_EXPRESSION:
            self.regexes.pop(name, None)
            self._subscribed_topics = None
        elif kind is _K.PARTITION_METADATA:
            self.has_partition_metadata = False

    def _remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._release(member)
            if member.metadata.instance_id is not None:
                self.static_members.pop(member.metadata.instance_id, None)
        self._subscribed_topics = None

    # --- all of it

    def changes(self) -> Iterator[Change]:
        """As few changes as lead to this group."""
        yield put(GroupMetadata(self.epoch, self.metadata_hash))
        if self.has_partition_metadata:
            yield put(PartitionMetadata())
        for member in self.members.values():
            yield put(member.metadata, member.member_id)
        yield from (put(resolved, regex) for regex, resolved in self.regexes.items())
        yield from (put(TargetAssignment(partitions), name) for name, partitions in self.target.items())
        yield put(TargetAssignmentMetadata(self.assignment_epoch))
        for member in self.members.values():
            yield put(member.current, member.member_id)

    def tombstones(self) -> Iterator[Change]:
        """The changes that forget this group."""
        yield from member_tombstones(self.members)
        yield from (Change(_K.REGULAR_EXPRESSION, regex) for regex in self.regexes)
        yield Change(_K.TARGET_ASSIGNMENT_METADATA)
        yield Change(_K.PARTITION_METADATA)
        yield Change(_K.GROUP_METADATA)


def _held(current: CurrentAssignment) -> Iterator[tuple[UUID, frozenset[int]]]:
    yield from current.assigned.items()
    yield from current.pending_revocation.items()


def member_tombstones(member_ids: Iterable[str]) -> Iterator[Change]:
    """The changes that forget members."""
    for member_id in member_ids:
        yield Change(_K.CURRENT_MEMBER_ASSIGNMENT, member_id)
        yield Change(_K.TARGET_ASSIGNMENT_MEMBER, member_id)
        yield Change(_K.MEMBER_METADATA, member_id)


def target_of(group: ConsumerGroup, member_id: str) -> Assignment:
    """What a member shall have."""
    return group.target.get(member_id, NOTHING)
