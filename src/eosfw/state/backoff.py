"""Decide which of many equal messages to log."""

from __future__ import annotations

FIRST = 1.0
LONGEST = 300.0
"""Seconds without a message behind the first one, and at most."""


class LogBackoff:
    """Lets one message through, then the next after twice as long each time, until it is told that all is well."""

    def __init__(self) -> None:
        self._pause, self._next = FIRST, float("-inf")

    def due(self, now: float) -> bool:
        """Whether to log at this moment, by a clock in seconds."""
        if now < self._next:
            return False
        self._next = now + self._pause
        self._pause = min(2 * self._pause, LONGEST)
        return True

    def reset(self) -> None:
        """Start anew: the next message is the first of its kind."""
        self._pause, self._next = FIRST, float("-inf")
