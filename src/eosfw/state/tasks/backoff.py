"""Pauses that grow with each failure (Kafka's `ExponentialBackoff`)."""

from __future__ import annotations

FIRST = 1.0
LONGEST = 300.0
"""Seconds between two log messages: at first, and at most."""


class ExponentialBackoff:
    """Pauses, each twice as long as the one before, up to a limit."""

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest = first, longest
        self._next = first

    def next(self) -> float:
        """The next pause, in seconds."""
        pause, self._next = self._next, min(2 * self._next, self._longest)
        return pause

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self._next = self._first


class LogBackoff:
    """Lets a message through after a pause that doubles each time, until it is reset."""

    def __init__(self) -> None:
        self._pauses, self._next = ExponentialBackoff(FIRST, LONGEST), float("-inf")

    def due(self, now: float) -> bool:
        """Whether to log now; `now` is in seconds of any clock."""
        if now < self._next:
            return False
        self._next = now + self._pauses.next()
        return True

    def reset(self) -> None:
        """Start again with the shortest pause; the next message is logged."""
        self._pauses.reset()
        self._next = float("-inf")
