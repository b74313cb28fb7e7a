"""One member of a group, its request to join, the answers it waits for. Kafka's `ClassicGroupMember`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from eosfw_memory.common.delayed_operation import Answer, DelayedOperation, Wakeable

Protocols: TypeAlias = tuple[tuple[str, bytes], ...]
"""The protocols a member supports, preferred first, each with metadata that the broker does not read."""

NO_MEMBER = ""
"""The member id of a client that has none yet."""


_FOREVER_MS = 2**31 - 1
"""The coordinator itself ends every wait: by a rebalance timeout, or when the member is removed."""


class DelayedJoin(Wakeable):
    """The answer to a member that waits. Kafka's `DelayedJoin` and `DelayedSync`; several requests may wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._answer: Answer | None = None

    def complete(self, answer: Answer) -> None:
        """Give the answer; a second one is ignored."""
        if self._answer is None:
            self._answer = answer
            self.changed()

    def answer_or_delay(self, late: Answer) -> Answer | DelayedOperation:
        """The answer if it was given; otherwise a delayed one, which is `late` if its time runs out."""
        if self._answer is not None:
            return self._answer
        return DelayedOperation(lambda expired: self._answer or (late if expired else None), _FOREVER_MS, (self,))


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
    sees: Callable[[str], bool] = lambda _: True
    """Whether it may know that a topic exists."""


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
    """When its session expires, unless it sends a request before."""
    is_new: bool = False
    """No join of it was answered yet, so it does not know its member id and cannot send heartbeats."""
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
        """Whether it sent nothing in time; a member whose request is delayed is excused, unless it is new."""
        waits = self.joining is not None or self.syncing is not None
        return self.deadline_ms <= now_ms and (self.is_new or not waits)

    def metadata(self, protocol: str | None) -> bytes:
        """Its metadata in one protocol."""
        return dict(self.protocols).get(protocol or "", b"")

    def renamed(self, member_id: str) -> Member:
        """The member under another id, with its assignment and without delayed requests."""
        return replace(self, member_id=member_id, joining=None, syncing=None)
