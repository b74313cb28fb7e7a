"""The time of one call that may be tried again: its deadline, and the pauses between its attempts.

Kafka's `Timer` together with its `ExponentialBackoff`.
"""

from __future__ import annotations

from eosfw.concurrency import Runtime

__all__ = ["RetryTimer"]

_SHORTEST = 0.001


class RetryTimer:
    """Pauses between attempts, each twice as long as the one before, never beyond the deadline."""

    def __init__(self, runtime: Runtime, deadline: float, *, pause: float = 0.0, longest: float = 0.1) -> None:
        self.deadline = deadline
        self._runtime = runtime
        self._pause = pause
        self._longest = longest

    def backoff(self) -> bool:
        """Pause before another attempt; False, at once, where the pause would end beyond the deadline."""
        if self._runtime.now() + self._pause >= self.deadline:
            return False
        if self._pause:
            self._runtime.sleep(self._pause)
        self._pause = min(self._longest, max(_SHORTEST, self._pause * 2))
        return True

    def remaining(self) -> float:
        """Seconds until the deadline, 0 from then on: a pause may last longer than it should on a busy machine."""
        return max(0.0, self.deadline - self._runtime.now())
