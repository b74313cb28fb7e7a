"""Answer JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Those of members of consumer groups go to `ClassicMemberRequests`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.server.coordinators.groups.classic_member_requests import ClassicMemberRequests
from eosfw_memory.server.coordinators.groups.group_metadata_manager import GroupMetadataManager, GroupSettings
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.group_state import HEARTBEAT_OR_SYNC, GroupState
from eosfw_memory.server.coordinators.groups.membership.members import NO_MEMBER, DelayedJoin, JoinRequest, Member
from eosfw_memory.server.coordinators.groups.membership.rebalance import NEW_MEMBER_TIMEOUT_MS, Rebalance
from eosfw_memory.server.coordinators.groups.membership.responses import (
    join_error,
    join_response,
    sync_error,
    sync_response,
)
from eosfw_memory.server.coordinators.groups.modern.consumer_group import ConsumerGroup

_S = GroupState


class MemberRequests:
    """The requests of members; each gives its answer, or a promise of it."""

    def __init__(
        self,
        store: GroupMetadataManager,
        rebalance: Rebalance,
        settings: GroupSettings,
        in_consumer_groups: ClassicMemberRequests,
    ) -> None:
        self._store = store
        self._rebalance = rebalance
        self._settings = settings
        self._in_consumer_groups = in_consumer_groups

    # --- joining

    def join(self, group_id: str, request: JoinRequest, now_ms: int) -> Answer | DelayedOperation:
        """Let a client into a group, or a member join again; the first client creates the group."""
        settings, timeout_ms = self._settings, request.session_timeout_ms
        if not group_id:
            return join_error(request.member_id, Code.INVALID_GROUP_ID)
        if not settings.min_session_timeout_ms <= timeout_ms <= settings.max_session_timeout_ms:
            return join_error(request.member_id, Code.INVALID_SESSION_TIMEOUT)
        group = self._store.get(group_id)
        if isinstance(group, ConsumerGroup):
            if not group.is_empty:
                return self._join_consumer_group(group, request, now_ms)
            group = None
        if group is None and request.member_id != NO_MEMBER:
            return join_error(request.member_id, Code.UNKNOWN_MEMBER_ID)
        try:
            return self._join(group or self._store.put(Group(group_id, now_ms), now_ms), request, now_ms)
        except KafkaError as refused:
            return join_error(request.member_id, refused.code)

    def _join_consumer_group(self, group: ConsumerGroup, request: JoinRequest, now_ms: int) -> Answer:
        try:
            return self._in_consumer_groups.join(group, request, now_ms)
        except KafkaError as refused:
            return join_error(NO_MEMBER, refused.code)

    def _join(self, group: Group, request: JoinRequest, now_ms: int) -> Answer | DelayedOperation:
        if not self._has_room(group, request.member_id):
            group.remove(request.member_id)
            return join_error(NO_MEMBER, Code.GROUP_MAX_SIZE_REACHED)
        if not group.supports(request.protocol_type, request.protocols):
            raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id == NO_MEMBER:
            return self._join_new(group, request, now_ms)
        if request.member_id in group.pending_join_members:
            return self._add(group, request.member_id, request, now_ms)
        return self._join_again(group, group.member(request.member_id, request.instance_id), request, now_ms)

    def _has_room(self, group: Group, member_id: str) -> bool:
        if group.state is _S.PREPARING_REBALANCE:
            # Those who have not joined yet may have to go.
            waiting = [member for member in group.members.values() if member.joining is not None]
            return len(waiting) < self._settings.max_size or any(member.member_id == member_id for member in waiting)
        return group.state is _S.EMPTY or member_id in group.members or len(group.members) < self._settings.max_size

    def _join_new(self, group: Group, request: JoinRequest, now_ms: int) -> Answer | DelayedOperation:
        member_id = f"{request.instance_id or request.client_id}-{uuid4()}"
        if request.instance_id is not None:
            holder = group.static_members.get(request.instance_id)
            if holder is not None:
                return self._replace(group, holder, member_id, request, now_ms)
        elif request.needs_known_id:
            group.pending_join_members[member_id] = now_ms + request.session_timeout_ms
            return join_error(member_id, Code.MEMBER_ID_REQUIRED)
        return self._add(group, member_id, request, now_ms)

    def _add(self, group: Group, member_id: str, request: JoinRequest, now_ms: int) -> Answer | DelayedOperation:
        member = Member.of(member_id, request)
        member.is_new = True
        member.deadline_ms = now_ms + NEW_MEMBER_TIMEOUT_MS
        member.joining = DelayedJoin()
        group.new_member_added = group.state is _S.PREPARING_REBALANCE and group.previous_state is _S.EMPTY
        group.add(member, request.protocol_type)
        return self._await(group, member, now_ms)

    def _join_again(self, group: Group, member: Member, request: JoinRequest, now_ms: int) -> Answer | DelayedOperation:
        if group.state is _S.EMPTY:
            raise KafkaError(Code.UNKNOWN_MEMBER_ID)
        same = member.protocols == request.protocols
        if group.state is _S.COMPLETING_REBALANCE and same:
            return join_response(group, member)  # its answer may have been lost
        if group.state is _S.STABLE and same and group.leader != member.member_id:
            return join_response(group, member)
        # The leader's wish alone begins a rebalance: its topics may have changed.
        _update(member, request)
        return self._await(group, member, now_ms)

    def _replace(
        self, group: Group, old_id: str, new_id: str, request: JoinRequest, now_ms: int
    ) -> Answer | DelayedOperation:
        """A static member returned under a new id: a client with the old id is fenced (KIP-345)."""
        _fence(group.members[old_id])
        leader = group.leader
        before = group.members[old_id].protocols
        member = group.replace(old_id, new_id)
        member.renew_session(now_ms)
        _update(member, request)
        if group.state is not _S.STABLE or group.choose_protocol() != group.protocol_name:
            return self._await(group, member, now_ms)
        try:
            self._store.save(group, {each.member_id: each.assignment for each in group.members.values()}, now_ms)
        except KafkaError as why:
            group.replace(new_id, old_id).protocols = before
            return join_error(NO_MEMBER, why.code)
        if request.may_skip_assignment:
            return join_response(group, member, skip_assignment=True)
        # An older client that heard it leads would assign anew; so it hears of the leader it was.
        return {**join_response(group, member), "leader": leader, "members": ()}

    def _await(self, group: Group, member: Member, now_ms: int) -> Answer | DelayedOperation:
        promise = self._rebalance.await_join(group, member, now_ms)
        return promise.answer_or_delay(join_error(member.member_id, Code.REBALANCE_IN_PROGRESS))

    # --- staying

    def sync(self, group_id: str, request: Any, now_ms: int) -> Answer | DelayedOperation:
        """Give a member its assignment; the leader brings everybody's."""
        known = self._store.get(group_id)
        try:
            if isinstance(known, ConsumerGroup):
                return self._in_consumer_groups.sync(known, request, now_ms)
            group, member = self._current(group_id, request)
            _check_protocol(group, request)
        except KafkaError as refused:
            return sync_error(refused.code)
        code = HEARTBEAT_OR_SYNC[group.state]
        if code is not Code.NONE:
            return sync_error(code)
        group.pending_sync_members.discard(member.member_id)
        if group.state is _S.STABLE:
            return sync_response(group, member)
        promise = member.syncing = member.syncing or DelayedJoin()
        if group.leader == member.member_id:
            assignments = {each.member_id: bytes(each.assignment) for each in request.assignments}
            self._rebalance.assign(group, assignments, now_ms)
        return promise.answer_or_delay(sync_error(Code.REBALANCE_IN_PROGRESS))

    def heartbeat(self, group_id: str, request: Any, now_ms: int) -> Code:
        """Say whether the member is still in its generation."""
        known = self._store.get(group_id)
        try:
            if isinstance(known, ConsumerGroup):
                return self._in_consumer_groups.heartbeat(known, request, now_ms)
            group, member = self._current(group_id, request)
        except KafkaError as refused:
            return refused.code
        member.renew_session(now_ms)
        return HEARTBEAT_OR_SYNC[group.state]

    def _current(self, group_id: str, request: Any) -> tuple[Group, Member]:
        """The group with the member of its current generation that asks; raises KafkaError."""
        group = self._existing(group_id)
        instance_id = getattr(request, "group_instance_id", None)
        return group, group.current_member(request.member_id, instance_id, request.generation_id)

    def _existing(self, group_id: str) -> Group:
        group = self._store.get(group_id)
        if not isinstance(group, Group):
            raise KafkaError(Code.UNKNOWN_MEMBER_ID if group_id else Code.INVALID_GROUP_ID)
        return group

    # --- leaving

    def leave(self, group_id: str, leavers: Sequence[tuple[str, str | None]], now_ms: int) -> list[Code]:
        """Remove members, each named by member id, or by group.instance.id alone (by an administrator).

        Raises InvalidGroupId.
        """
        try:
            group = self._existing(group_id)
        except KafkaError as why:
            if why.code is Code.INVALID_GROUP_ID:
                raise
            return [why.code] * len(leavers)
        codes = [self._leave(group, member_id, instance_id) for member_id, instance_id in leavers]
        if Code.NONE in codes:
            self._rebalance.start_or_finish_without(group, now_ms)
        return codes

    def _leave(self, group: Group, member_id: str, instance_id: str | None) -> Code:
        if member_id in group.pending_join_members:
            group.remove(member_id)
            return Code.NONE
        if member_id == NO_MEMBER and instance_id is not None:
            member_id = group.static_members.get(instance_id, NO_MEMBER)
        try:
            member = group.member(member_id, instance_id)
        except KafkaError as refused:
            return refused.code
        self._rebalance.remove_without_rebalance(group, member)
        return Code.NONE


def _check_protocol(group: Group, request: Any) -> None:
    """From version 5 on clients send the protocol they expect (KIP-559)."""
    for expected, agreed in (
        (getattr(request, "protocol_type", None), group.protocol_type),
        (getattr(request, "protocol_name", None), group.protocol_name),
    ):
        if expected is not None and agreed is not None and expected != agreed:
            raise KafkaError(Code.INCONSISTENT_GROUP_PROTOCOL)


def _update(member: Member, request: JoinRequest) -> None:
    member.protocols = request.protocols
    member.session_timeout_ms = request.session_timeout_ms
    member.rebalance_timeout_ms = request.rebalance_timeout_ms


def _fence(member: Member) -> None:
    """Answer the requests that wait under a member id that was taken over."""
    if member.joining is not None:
        member.joining.complete(join_error(member.member_id, Code.FENCED_INSTANCE_ID))
    if member.syncing is not None:
        member.syncing.complete(sync_error(Code.FENCED_INSTANCE_ID))
