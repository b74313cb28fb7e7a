"""Decide what a heartbeat, a departure or a timeout changes in a consumer group.

Every function gives changes, which count once they are logged; the group itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.groups.modern.changes import (
    Change,
    ChangeKind,
    GroupMetadata,
    ResolvedRegularExpression,
    TargetAssignment,
    put,
)
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup, member_tombstones, target_of
from eosfw_memory.server.coordinators.groups.modern.member import (
    JOIN_GROUP_EPOCH,
    LEAVE_GROUP_STATIC_EPOCH,
    NOTHING,
    Assignment,
    ClassicMemberMetadata,
    ConsumerGroupMember,
    is_subset,
)
from eosfw_memory.server.coordinators.groups.modern.reconciliation import reconcile
from eosfw_memory.server.coordinators.groups.modern.target_assignment import target_changes
from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicsImage, metadata_hash
from eosfw_memory.server.coordinators.regular_expression import compiled

_K = ChangeKind
_T = TypeVar("_T")
_REGEX: Final = "SubscribedTopicRegex"
_REFRESH_MS: Final = 600_000
"""How long a regular expression stands for the same topics while no topic changes; what its members may see may change.

Kafka's default for `group.consumer.regex.refresh.interval.ms`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    """What a member reports; None is what did not change since its last heartbeat.

    JoinGroup of a member that uses the classic protocol is one, too, which says everything and joins with any epoch.
    """

    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int | None = None
    topic_names: frozenset[str] | None = None
    topic_regex: str | None = None
    server_assignor: str | None = None
    owned: Assignment | None = None
    """The partitions that it has now."""
    classic: ClassicMemberMetadata | None = None
    sees: Callable[[str], bool] = lambda _: True
    """Whether it may know that a topic exists."""

    @property
    def is_full(self) -> bool:
        """Whether it says everything, as members do that missed an answer."""
        subscribed = self.topic_names is not None or self.topic_regex is not None
        return self.rebalance_timeout_ms is not None and subscribed and self.owned is not None


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    """What a heartbeat changes, and how its member stands then."""

    changes: list[Change]
    group: ConsumerGroup
    """The group as it stands then."""
    member: ConsumerGroupMember
    assignment: Assignment | None
    """What to tell the member that it has; None if that is what it knows already."""


class _Draft:
    """A group with changes that are not logged yet."""

    def __init__(self, group: ConsumerGroup) -> None:
        self.group = group.copy()
        self.changes: list[Change] = []

    def make(self, *changes: Change) -> None:
        for change in changes:
            self.group.apply(change)
            self.changes.append(change)

    def begin_epoch(self, hashed: int) -> None:
        """Begin another group epoch."""
        self.make(put(GroupMetadata(self.group.epoch + 1, hashed)))
        if self.group.has_partition_metadata:
            self.make(Change(_K.PARTITION_METADATA))


def heartbeat(group: ConsumerGroup, request: HeartbeatRequest, topics: TopicsImage, now_ms: int) -> HeartbeatResult:
    """Create or update the member, make a target assignment if there is a new group epoch, lead the member to it.

    Raises UnknownMemberId, FencedMemberEpoch, UnreleasedInstanceId, FencedInstanceId or InvalidRegularExpression.
    """
    draft = _Draft(group)
    before = _member(draft, request)
    changed = _update_metadata(draft, before, request)
    changed |= _resolve(draft, request, topics, now_ms)
    _begin_epoch_if_needed(draft, topics, subscription_changed=changed or group.epoch == 0)
    if draft.group.epoch > draft.group.assignment_epoch:
        draft.make(*target_changes(draft.group, topics))
    after = _reconcile(draft, draft.group.members[before.member_id], request.owned)
    shown = request.member_epoch == JOIN_GROUP_EPOCH or request.is_full or _assignment_changed(before, after)
    return HeartbeatResult(draft.changes, draft.group, after, after.current.assigned if shown else None)


def leave_for_a_while(member: ConsumerGroupMember) -> list[Change]:
    """Let a static member come back to what it has."""
    away = replace(member.current, member_epoch=LEAVE_GROUP_STATIC_EPOCH, pending_revocation=NOTHING)
    return [put(away, member.member_id)]


def fence(group: ConsumerGroup, member_ids: Collection[str], topics: TopicsImage) -> list[Change]:
    """Remove members, which begins another group epoch; the next heartbeat of a member makes its assignment."""
    draft = _Draft(group)
    draft.make(*member_tombstones(member_ids))
    _forget_unused_regexes(draft)
    draft.begin_epoch(metadata_hash(topics, draft.group.subscribed_topics()))
    return draft.changes


def current_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerGroupMember:
    """The member of these ids; raises UnknownMemberId, or FencedInstanceId for a replaced static member."""
    if instance_id is None:
        return _known(group, member_id)
    holder = group.static_members.get(instance_id)
    if holder is None:
        raise KafkaError(Code.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder != member_id:
        raise KafkaError(
            Code.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}.",
        )
    return group.members[holder]


def _known(group: ConsumerGroup, member_id: str) -> ConsumerGroupMember:
    member = group.members.get(member_id)
    if member is None:
        raise KafkaError(Code.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


# --- the member


def _member(draft: _Draft, request: HeartbeatRequest) -> ConsumerGroupMember:
    """The member as it stands before this heartbeat."""
    if request.member_epoch != JOIN_GROUP_EPOCH:
        member = current_member(draft.group, request.member_id, request.instance_id)
        _check_epoch(member, request)
        return member
    holder = None if request.instance_id is None else draft.group.static_members.get(request.instance_id)
    if holder is not None and not (holder == request.member_id and request.classic):
        return _replace_static(draft, draft.group.members[holder], request)
    member = draft.group.members.get(request.member_id) or ConsumerGroupMember(request.member_id)
    if request.instance_id is None and request.classic is None:
        _check_epoch(member, request)
    return member


def _check_epoch(member: ConsumerGroupMember, request: HeartbeatRequest) -> None:
    known, received = member.current, request.member_epoch
    if received == known.member_epoch:
        return
    # The answer with the new epoch may have been lost; then the member has nothing beyond what it may have.
    late = received < known.member_epoch and received == known.previous_member_epoch
    if not late or request.owned is None or not is_subset(request.owned, known.assigned):
        than = "greater" if received > known.member_epoch else "smaller"
        raise KafkaError(
            Code.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {than} member epoch ({received}) than the one known by the group "
            f"coordinator ({known.member_epoch}). The member must abandon all its partitions and rejoin.",
        )


def _replace_static(draft: _Draft, holder: ConsumerGroupMember, request: HeartbeatRequest) -> ConsumerGroupMember:
    """Give a static member that left for a while its partitions back, under another member id.

    By the classic protocol nobody says that it is away.
    """
    by_epochs = request.classic is None and holder.metadata.classic is None
    if by_epochs and holder.current.member_epoch != LEAVE_GROUP_STATIC_EPOCH:
        raise KafkaError(
            Code.UNRELEASED_INSTANCE_ID,
            f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group because "
            f"the instance id is owned by {holder.member_id} member.",
        )
    target = target_of(draft.group, holder.member_id)
    current = replace(holder.current, member_epoch=JOIN_GROUP_EPOCH, previous_member_epoch=JOIN_GROUP_EPOCH)
    draft.make(
        *member_tombstones([holder.member_id]),
        put(holder.metadata, request.member_id),
        put(TargetAssignment(target), request.member_id),
        put(current, request.member_id),
    )
    return draft.group.members[request.member_id]


def _update_metadata(draft: _Draft, before: ConsumerGroupMember, request: HeartbeatRequest) -> bool:
    """Note what a member says of itself; whether it has another subscription than before."""
    old = before.metadata
    new = replace(
        old,
        instance_id=_given_or(request.instance_id, old.instance_id),
        rack_id=_given_or(request.rack_id, old.rack_id),
        client_id=request.client_id,
        client_host=request.client_host,
        topic_names=_given_or(request.topic_names, old.topic_names),
        topic_regex=_given_or(request.topic_regex, old.topic_regex),
        rebalance_timeout_ms=_given_or(request.rebalance_timeout_ms, old.rebalance_timeout_ms),
        server_assignor=_given_or(request.server_assignor, old.server_assignor),
        classic=request.classic,
    )
    if new.topic_regex and new.topic_regex != old.topic_regex:
        compiled(_REGEX, new.topic_regex)
    if new != old or before.member_id not in draft.group.members:
        draft.make(put(new, before.member_id))
    return new.subscription != old.subscription


def _given_or(new: _T | None, old: _T) -> _T:
    return old if new is None else new


# --- the group


def _resolve(draft: _Draft, request: HeartbeatRequest, topics: TopicsImage, now_ms: int) -> bool:
    """Find the topics that the group's regular expressions name; whether any names others than before."""
    _forget_unused_regexes(draft)
    group, regexes = draft.group, draft.group.subscribed_regexes()
    seen = group.topics_version == topics.version
    if all(seen and _is_fresh(group.regexes.get(regex), now_ms) for regex in regexes):
        return False
    changed = False
    # All of them, so that a change of topics begins one rebalance.
    for regex in sorted(regexes):
        pattern = compiled(_REGEX, regex)
        found = frozenset(name for name in topics.names() if pattern.fullmatch(name) and request.sees(name))
        known = group.regexes.get(regex)
        changed |= found != (frozenset() if known is None else known.topics)
        draft.make(put(ResolvedRegularExpression(found, topics.version, now_ms), regex))
    return changed


def _is_fresh(resolved: ResolvedRegularExpression | None, now_ms: int) -> bool:
    return resolved is not None and now_ms < resolved.resolved_ms + _REFRESH_MS


def _forget_unused_regexes(draft: _Draft) -> None:
    unused = draft.group.regexes.keys() - draft.group.subscribed_regexes()
    draft.make(*(Change(_K.REGULAR_EXPRESSION, regex) for regex in sorted(unused)))


def _begin_epoch_if_needed(draft: _Draft, topics: TopicsImage, *, subscription_changed: bool) -> None:
    """Begin another group epoch if a subscription or a topic changed."""
    group = draft.group
    if not subscription_changed and group.topics_version == topics.version:
        return
    hashed = metadata_hash(topics, group.subscribed_topics())
    if subscription_changed or hashed != group.metadata_hash:
        draft.begin_epoch(hashed)


def _reconcile(draft: _Draft, member: ConsumerGroupMember, owned: Assignment | None) -> ConsumerGroupMember:
    """Lead the member one step on."""
    group, name = draft.group, member.member_id
    if member.is_reconciled_to(group.assignment_epoch):
        return member
    current = reconcile(member.current, group.assignment_epoch, target_of(group, name), group.owners, owned)
    if current != member.current:
        draft.make(put(current, name))
    return group.members[name]


def _assignment_changed(before: ConsumerGroupMember, after: ConsumerGroupMember) -> bool:
    return before.current.assigned != after.current.assigned
