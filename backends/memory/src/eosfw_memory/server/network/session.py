"""How long an authenticated connection is served before it must be authenticated anew (KIP-368)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_LEAST_INTERVAL: Final = 1.0
"""Seconds between two authentications of a connection, as in Kafka: each costs the broker more than a request."""


@dataclass(frozen=True, slots=True)
class Session:
    """Who a client is, for how long; times of one monotonic clock, in seconds."""

    mechanism: str
    principal: str
    ends_at: float = math.inf
    renewed_at: float = -math.inf
    """When the authentication began, unless it was the first one."""

    def is_over(self, now: float) -> bool:
        """Whether nothing but an authentication is served any more."""
        return now >= self.ends_at

    def may_be_renewed(self, now: float) -> bool:
        """Whether the client may authenticate itself anew."""
        return self.ends_at < math.inf and now - self.renewed_at >= _LEAST_INTERVAL


def session_lifetime(longest: float | None, expires_at: float | None, wall: float) -> float | None:
    """Seconds until a session ends: as the broker limits it, or with the credentials; None if never."""
    left = [seconds for seconds in (longest, None if expires_at is None else expires_at - wall) if seconds is not None]
    return max(0.0, min(left)) if left else None
