"""Hold what a group knows of one member."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from eosfw_memory.coordinators.groups.delayed_join import DelayedJoin

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""What a member offers to speak, the best first, each with the member's own metadata: opaque bytes to the broker."""

NO_MEMBER = ""
"""The member id of who has none yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """A request to join a group."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    needs_known_id: bool = True
    """The client takes its member id from a first answer, so that no unfinished join leaves a ghost (KIP-394)."""
    may_skip_assignment: bool = True
    """The client understands that the assignment of before is still good (KIP-814)."""


@dataclass(slots=True, eq=False)
class Member:
    """One member, changed in place."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    deadline_ms: int = 0
    """When it counts as gone, unless it is heard before."""
    is_new: bool = False
    """It has never been told its member id by the end of a join, so it cannot send heartbeats."""
    joining: DelayedJoin | None = None
    syncing: DelayedJoin | None = None

    @classmethod
    def of(cls, member_id: str, request: JoinRequest) -> Member:
        """A member as its request describes it."""
        return cls(
            member_id,
            request.instance_id,
            request.client_id,
            request.client_host,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            request.protocols,
        )

    def renew_session(self, now_ms: int) -> None:
        """It lives: it has another session timeout."""
        self.deadline_ms = now_ms + self.session_timeout_ms

    def session_expired(self, now_ms: int) -> bool:
        """Whether it was not heard in time; who waits for the others is excused, unless it never got its id."""
        waits = self.joining is not None or self.syncing is not None
        return self.deadline_ms <= now_ms and (self.is_new or not waits)

    def metadata(self, protocol: str | None) -> bytes:
        """What it says of itself in one protocol."""
        return dict(self.protocols).get(protocol or "", b"")

    def renamed(self, member_id: str) -> Member:
        """The same member, with its assignment, under another id; nobody waits for it yet."""
        return replace(self, member_id=member_id, joining=None, syncing=None)
