"""Wait between the attempts of one call, never beyond its deadline."""

from __future__ import annotations

from eosfw.concurrency import Runtime

_FIRST = 0.001
_LONGEST = 0.1


class RetryTimer:
    """The pauses of one call: none before the second attempt, then ever longer ones."""

    def __init__(self, runtime: Runtime, deadline: float) -> None:
        self.deadline = deadline
        self._runtime = runtime
        self._pause = 0.0

    def backoff(self) -> bool:
        """Pause before another attempt; False once that would go beyond the deadline."""
        if self._runtime.now() + self._pause >= self.deadline:
            return False
        if self._pause:
            self._runtime.sleep(self._pause)
        self._pause = min(_LONGEST, max(_FIRST, self._pause * 2))
        return True

    def remaining(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - self._runtime.now()
