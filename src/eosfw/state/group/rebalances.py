"""The rebalances that a worker took part in (Kafka Connect's `WorkerRebalanceMetrics`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Rebalances"]


@dataclass(frozen=True, slots=True)
class Rebalances:
    """How many there were and how long they took, in seconds of a monotonic clock.

    A rebalance lasts from the moment at which the worker sees that tasks will move, or that it is not in its group,
    until it has stopped and started what the assignment says. One that moves tasks from a worker to another takes two
    assignments, and counts as two: so it does in Kafka Connect.
    """

    completed: int = 0
    total: float = 0.0
    longest: float = 0.0
    assignment: int = 0
    """The newest assignment that was followed."""
    began: float | None = None
    """None while there is none under way."""
    ended: float | None = None
    """None before the first has ended."""

    def begun(self, now: float) -> Rebalances:
        """After a look that found one under way."""
        return self if self.began is not None else replace(self, began=now)

    def followed(self, assignment: int, now: float) -> Rebalances:
        """After an assignment was followed."""
        took = 0.0 if self.began is None else now - self.began
        return Rebalances(self.completed + 1, self.total + took, max(self.longest, took), assignment, None, now)

    @property
    def average(self) -> float:
        """The mean time, 0 before the first has ended."""
        return self.total / self.completed if self.completed else 0.0
