"""A backoff for log messages that repeat."""

from __future__ import annotations

FIRST = 1.0
LONGEST = 300.0
"""Seconds between two messages: at first, and at most."""


class LogBackoff:
    """Lets a message through after a pause that doubles each time, until it is reset."""

    def __init__(self) -> None:
        self._pause, self._next = FIRST, float("-inf")

    def due(self, now: float) -> bool:
        """Whether to log now; `now` is in seconds of any clock."""
        if now < self._next:
            return False
        self._next = now + self._pause
        self._pause = min(2 * self._pause, LONGEST)
        return True

    def reset(self) -> None:
        """Start again with the shortest pause; the next message is logged."""
        self._pause, self._next = FIRST, float("-inf")
