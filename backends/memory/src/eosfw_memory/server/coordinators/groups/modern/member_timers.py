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
    """Session timeouts, and rebalance timeouts of members that have to give up partitions."""

    def __init__(self) -> None:
        self._sessions: dict[str, int] = {}
        self._revocations: dict[str, _Revocation] = {}

    def renew(self, member: ConsumerGroupMember, session_timeout_ms: int, now_ms: int) -> None:
        """A member sent a heartbeat, and is now as given."""
        self._sessions[member.member_id] = now_ms + session_timeout_ms
        self._await_revocation(member, now_ms)

    def _await_revocation(self, member: ConsumerGroupMember, now_ms: int) -> None:
        name, epoch = member.member_id, member.current.member_epoch
        # A static member that left for a while (-2) has nothing more to give up.
        if member.current.state is not MemberState.UNREVOKED_PARTITIONS or epoch < 0:
            self._revocations.pop(name, None)
        elif name not in self._revocations or self._revocations[name].member_epoch != epoch:
            self._revocations[name] = _Revocation(now_ms + member.metadata.rebalance_timeout_ms, epoch)

    def expired(self, members: Iterable[ConsumerGroupMember], session_timeout_ms: int, now_ms: int) -> set[str]:
        """The members whose session or rebalance timeout is over; one without deadlines gets them from now.

        After a restart no member has any.
        """
        gone = set()
        for member in members:
            if self._sessions.setdefault(member.member_id, now_ms + session_timeout_ms) <= now_ms:
                gone.add(member.member_id)
            self._await_revocation(member, now_ms)
            revocation = self._revocations.get(member.member_id)
            if revocation is not None and revocation.deadline_ms <= now_ms:
                gone.add(member.member_id)
        return gone

    def retain(self, member_ids: Collection[str]) -> None:
        """Forget all members but these."""
        for name in self._sessions.keys() - member_ids:
            del self._sessions[name]
        for name in self._revocations.keys() - member_ids:
            del self._revocations[name]

    def on_clock_moved_back(self, members: Iterable[ConsumerGroupMember], session_timeout_ms: int, now_ms: int) -> None:
        """Have no deadline later than a timeout from now."""
        for member in members:
            name = member.member_id
            if name in self._sessions:
                self._sessions[name] = min(self._sessions[name], now_ms + session_timeout_ms)
            if name in self._revocations:
                latest = now_ms + member.metadata.rebalance_timeout_ms
                deadline_ms, epoch = self._revocations[name]
                self._revocations[name] = _Revocation(min(deadline_ms, latest), epoch)
