"""Clocks of which tests say what they read; threads and queues are those of the operating system."""

from __future__ import annotations

from eosfw.concurrency import ThreadRuntime


class StoppedClock(ThreadRuntime):
    """Reads `at` until a test sets that."""

    def __init__(self, at: float = 0.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


class AdvancedClock(ThreadRuntime):
    """Is `ahead` of the real one."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead
