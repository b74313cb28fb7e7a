"""How long a task has been in each of its states (Kafka Connect's `StateTracker`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Activity", "StateTimes"]


class Activity(Enum):
    """What a task does, as far as its steps say."""

    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(slots=True)
class StateTimes:
    """Seconds in each state since the first one, of a monotonic clock."""

    current: Activity | None = None
    """None before the first step."""
    _since: float = 0.0
    _spent: dict[Activity, float] = field(default_factory=dict)

    def enter(self, state: Activity, at: float) -> None:
        """Note that another state begins; the same one goes on."""
        if state is self.current:
            return
        if self.current is not None:
            self._spent[self.current] = self.spent(self.current, at)
        self.current, self._since = state, at

    def spent(self, state: Activity, now: float) -> float:
        """The time in a state so far."""
        ongoing = max(0.0, now - self._since) if state is self.current else 0.0
        return self._spent.get(state, 0.0) + ongoing

    def ratio(self, state: Activity, now: float) -> float:
        """The share of a state in all time so far; 0 before there was any."""
        total = sum(self.spent(one, now) for one in Activity)
        return self.spent(state, now) / total if total else 0.0
