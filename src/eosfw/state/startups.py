"""Counts of starts that succeeded or failed (the `startup` metrics of Kafka Connect's `WorkerMetricsGroup`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eosfw.state.tasks.metrics import WORKER_GROUP, Metric

__all__ = ["Startups"]


@dataclass(slots=True)
class Startups:
    """Starts of connectors, or of tasks, in one worker."""

    succeeded: int = 0
    failed: int = 0

    def metrics(self, what: str) -> Iterator[Metric]:
        """The values now; `what` is `connector` or `task`."""
        attempts = self.succeeded + self.failed
        share = 1 / max(1, attempts)
        for name, value, doc in (
            ("attempts-total", attempts, f"starts of {what}s"),
            ("success-total", self.succeeded, f"starts of {what}s that succeeded"),
            ("success-percentage", self.succeeded * share, f"starts of {what}s that succeeded, from 0 to 1"),
            ("failure-total", self.failed, f"starts of {what}s that failed"),
            ("failure-percentage", self.failed * share, f"starts of {what}s that failed, from 0 to 1"),
        ):
            yield Metric(WORKER_GROUP, f"{what}-startup-{name}", value, {}, doc)
