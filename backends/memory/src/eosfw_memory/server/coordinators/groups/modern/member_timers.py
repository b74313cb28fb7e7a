"""The deadlines of the members of one consumer group."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from eosfw_memory.server.coordinators.groups.modern.member import ConsumerGroupMember, MemberState


class _Revocation(NamedTuple):
    """Until when a member must have left an epoch."""

    deadline_ms: int
    member_epoch: int


class MemberTimers:
    """Session timeouts, and rebalance timeouts of members that have to give up partitions, to join or to sync."""

    def __init__(self) -> None:
        self._sessions: dict[str, int] = {}
        self._revocations: dict[str, _Revocation] = {}
        self._joins: dict[str, int] = {}
        """Until when members of the classic protocol that were told of a rebalance must join."""
        self._syncs: dict[str, int] = {}
        """Until when such members that joined must ask for their assignment."""

    def renew(self, member: ConsumerGroupMember, session_timeout_ms: int, now_ms: int) -> None:
        """A member sent a heartbeat, and is now as given."""
        self._sessions[member.member_id] = now_ms + member.session_timeout_ms(session_timeout_ms)
        self._await_revocation(member, now_ms)
        if member.metadata.classic is None:
            self._joins.pop(member.member_id, None)
            self._syncs.pop(member.member_id, None)

    def await_join(self, member: ConsumerGroupMember, now_ms: int) -> None:
        """A member of the classic protocol was told to join again."""
        self._joins.setdefault(member.member_id, now_ms + member.metadata.rebalance_timeout_ms)

    def await_sync(self, member: ConsumerGroupMember, now_ms: int) -> None:
        """A member of the classic protocol joined."""
        self._joins.pop(member.member_id, None)
        self._syncs[member.member_id] = now_ms + member.metadata.rebalance_timeout_ms

    def synced(self, member: ConsumerGroupMember) -> None:
        """A member of the classic protocol has its assignment."""
        self._syncs.pop(member.member_id, None)

    def _await_revocation(self, member: ConsumerGroupMember, now_ms: int) -> None:
        name, epoch = member.member_id, member.current.member_epoch
        # A static member that left for a while (-2) has nothing more to give up; a classic one has to join again.
        away = epoch < 0 or member.metadata.classic is not None
        if member.current.state is not MemberState.UNREVOKED_PARTITIONS or away:
            self._revocations.pop(name, None)
        elif name not in self._revocations or self._revocations[name].member_epoch != epoch:
            self._revocations[name] = _Revocation(now_ms + member.metadata.rebalance_timeout_ms, epoch)

    def expired(self, members: Iterable[ConsumerGroupMember], session_timeout_ms: int, now_ms: int) -> set[str]:
        """The members whose session or rebalance timeout is over; one without deadlines gets them from now.

        After a restart no member has any, nor have those of a classic group that became a consumer group.
        """
        gone = set()
        for member in members:
            name = member.member_id
            self._sessions.setdefault(name, now_ms + member.session_timeout_ms(session_timeout_ms))
            self._await_revocation(member, now_ms)
            revocation = self._revocations.get(name)
            ends = [deadlines[name] for deadlines in self._plain if name in deadlines]
            if revocation is not None:
                ends.append(revocation.deadline_ms)
            if min(ends) <= now_ms:
                gone.add(name)
        return gone

    @property
    def _plain(self) -> tuple[dict[str, int], ...]:
        return self._sessions, self._joins, self._syncs

    def retain(self, member_ids: Collection[str]) -> None:
        """Forget all members but these."""
        for deadlines in self._plain:
            for name in deadlines.keys() - member_ids:
                del deadlines[name]
        for name in self._revocations.keys() - member_ids:
            del self._revocations[name]

    def on_clock_moved_back(self, members: Iterable[ConsumerGroupMember], session_timeout_ms: int, now_ms: int) -> None:
        """Have no deadline later than a timeout from now."""
        for member in members:
            name, latest = member.member_id, now_ms + member.metadata.rebalance_timeout_ms
            if name in self._sessions:
                ends = now_ms + member.session_timeout_ms(session_timeout_ms)
                self._sessions[name] = min(self._sessions[name], ends)
            for deadlines in (self._joins, self._syncs):
                if name in deadlines:
                    deadlines[name] = min(deadlines[name], latest)
            if name in self._revocations:
                deadline_ms, epoch = self._revocations[name]
                self._revocations[name] = _Revocation(min(deadline_ms, latest), epoch)
