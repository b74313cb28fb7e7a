"""Lead a group from one generation to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.members import NO_MEMBER, DelayedJoin, Member
from eosfw_memory.server.coordinators.groups.membership.responses import (
    join_error,
    join_response,
    sync_error,
    sync_response,
)

Save = Callable[[Group, Mapping[str, bytes], int], None]
"""Write a group with these assignments to the log, at this time; raises KafkaError if that cannot be done."""

NEW_MEMBER_TIMEOUT_MS = 300_000
"""How long the first join of a member may be delayed: it can send no heartbeat meanwhile."""
_S = GroupState


class Rebalance:
    """The steps between two generations; every time is given, nothing waits."""

    def __init__(self, save: Save, *, initial_delay_ms: int) -> None:
        self._save = save
        self._initial_delay_ms = initial_delay_ms

    # --- members come or go

    def await_join(self, group: Group, member: Member, now_ms: int) -> DelayedJoin:
        """Have a member wait for the next generation; begin a rebalance unless one is under way."""
        # A member that joins again while it waits shares the promise: both requests get the answer.
        promise = member.joining = member.joining or DelayedJoin()
        self.start_or_finish(group, now_ms)
        return promise

    def start_or_finish(self, group: Group, now_ms: int) -> None:
        """Begin a rebalance, or end the one under way if every member has joined."""
        if group.may_rebalance:
            self._prepare(group, now_ms)
        else:
            self.finish_if_complete(group, now_ms)

    def finish_if_complete(self, group: Group, now_ms: int) -> None:
        """End a rebalance that every member has joined; the first one of a group also waits for more members."""
        putting_off = group.previous_state is _S.EMPTY
        if group.state is _S.PREPARING_REBALANCE and not putting_off and group.all_joined():
            self._finish(group, now_ms)

    def start_or_finish_without(self, group: Group, now_ms: int) -> None:
        """Rebalance after a member left."""
        if group.state in (_S.STABLE, _S.COMPLETING_REBALANCE):
            self._prepare(group, now_ms)
        else:
            self.finish_if_complete(group, now_ms)

    def remove_without_rebalance(self, group: Group, member: Member) -> None:
        """Take a member out, with whatever it waits for."""
        group.remove(member.member_id)
        _answer_join(member, join_error(NO_MEMBER, Code.UNKNOWN_MEMBER_ID))
        _answer_sync(member, sync_error(Code.UNKNOWN_MEMBER_ID))

    def abandon(self, group: Group) -> None:
        """Have everybody who waits join again: the group goes on under another protocol."""
        for member in group.members.values():
            _answer_join(member, join_error(member.member_id, Code.REBALANCE_IN_PROGRESS))
            _answer_sync(member, sync_error(Code.REBALANCE_IN_PROGRESS))

    # --- the phases

    def _prepare(self, group: Group, now_ms: int) -> None:
        if group.state is _S.COMPLETING_REBALANCE:
            # Members that wait in SyncGroup would wait for an assignment that nobody makes any more.
            self._hand_out(group, {}, now_ms, Code.REBALANCE_IN_PROGRESS)
        group.pending_sync_members.clear()
        group.sync_deadline_ms = None
        group.move(_S.PREPARING_REBALANCE, now_ms)
        if group.previous_state is not _S.EMPTY:
            group.join_deadline_ms = now_ms + group.rebalance_timeout_ms
            self.finish_if_complete(group, now_ms)
            return
        group.new_member_added = False
        group.join_deadline_ms = now_ms + self._initial_delay_ms
        group.join_left_ms = max(group.rebalance_timeout_ms - self._initial_delay_ms, 0)
        if not self._initial_delay_ms:
            self._finish(group, now_ms)

    def _finish(self, group: Group, now_ms: int) -> None:
        """Begin the next generation with the members that joined, and static members; the others are removed."""
        group.join_deadline_ms = None
        for member in [each for each in group.members.values() if each.joining is None and each.instance_id is None]:
            self.remove_without_rebalance(group, member)
        if group.members and not group.maybe_elect_new_leader():
            # Only static members, all silent: their session timeouts decide.
            group.join_deadline_ms = now_ms + group.rebalance_timeout_ms
            return
        group.generation += 1
        group.pending_sync_members.clear()
        if group.members:
            self._complete(group, now_ms)
        else:
            self._empty(group, now_ms)

    def _empty(self, group: Group, now_ms: int) -> None:
        group.protocol_name = group.leader = None
        group.move(_S.EMPTY, now_ms)
        with suppress(KafkaError):  # replay then finds the members of before, whose sessions will end again
            self._save(group, {}, now_ms)

    def _complete(self, group: Group, now_ms: int) -> None:
        group.protocol_name = group.choose_protocol()
        group.move(_S.COMPLETING_REBALANCE, now_ms)
        group.sync_deadline_ms = now_ms + group.rebalance_timeout_ms
        for member in group.members.values():
            member.is_new = False
            member.renew_session(now_ms)
            group.pending_sync_members.add(member.member_id)
            _answer_join(member, join_response(group, member))

    def assign(self, group: Group, assignments: Mapping[str, bytes], now_ms: int) -> None:
        """Take the leader's assignment; if it cannot be logged all members join again."""
        wanted = {name: assignments.get(name, b"") for name in group.members}
        try:
            self._save(group, wanted, now_ms)
        except KafkaError as why:
            self._hand_out(group, {}, now_ms, why.code)
            self._prepare(group, now_ms)
            return
        self._hand_out(group, wanted, now_ms)
        group.move(_S.STABLE, now_ms)

    def _hand_out(self, group: Group, assignments: Mapping[str, bytes], now_ms: int, code: Code = Code.NONE) -> None:
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.syncing is not None:
                member.renew_session(now_ms)
            _answer_sync(member, sync_response(group, member) if code is Code.NONE else sync_error(code))

    # --- time passes

    def tick(self, group: Group, now_ms: int) -> None:
        """Expire sessions, and end a rebalance whose time is over."""
        for member_id in [name for name, deadline in group.pending_join_members.items() if deadline <= now_ms]:
            group.remove(member_id)
            self.finish_if_complete(group, now_ms)
        for member in [each for each in group.members.values() if each.session_expired(now_ms)]:
            # Removing the one before may have ended the rebalance, which removes others as well.
            if member.member_id in group.members:
                self.remove_without_rebalance(group, member)
                self.start_or_finish_without(group, now_ms)
        if group.join_deadline_ms is not None and group.join_deadline_ms <= now_ms:
            self._join_over(group, now_ms)
        if group.sync_deadline_ms is not None and group.sync_deadline_ms <= now_ms:
            self._sync_over(group, now_ms)

    def _join_over(self, group: Group, now_ms: int) -> None:
        initial = group.previous_state is _S.EMPTY
        # Kafka's `InitialDelayedJoin`: each delay in which a member came is followed by another one.
        if not initial or not group.new_member_added or not group.join_left_ms:
            self._finish(group, now_ms)
            return
        group.new_member_added = False
        group.join_deadline_ms = now_ms + min(self._initial_delay_ms, group.join_left_ms)
        group.join_left_ms = max(group.join_left_ms - self._initial_delay_ms, 0)

    def _sync_over(self, group: Group, now_ms: int) -> None:
        """Remove the members that joined and never sent SyncGroup."""
        group.sync_deadline_ms = None
        silent = [group.members[name] for name in group.pending_sync_members]
        if silent:
            for member in silent:
                self.remove_without_rebalance(group, member)
            self._prepare(group, now_ms)


def _answer_join(member: Member, answer: Answer) -> None:
    promise, member.joining = member.joining, None
    if promise is not None:
        promise.complete(answer)


def _answer_sync(member: Member, answer: Answer) -> None:
    promise, member.syncing = member.syncing, None
    if promise is not None:
        promise.complete(answer)
