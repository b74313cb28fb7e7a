"""Metrics of the tasks of this process, from their steps."""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar, NamedTuple

from eosfw.concurrency import Runtime
from eosfw.ids import ConnectorTaskId
from eosfw.state.startups import Startups
from eosfw.state.steps import Announce, StepEvent
from eosfw.state.tasks.metrics import Metric, TaskMetrics


class _Started(NamedTuple):
    generation: int
    metrics: TaskMetrics


class Metrics:
    """An observer that measures tasks under Kafka Connect's names; thread-safe.

    Of each task the newest generation is measured: a zombie's steps do not count for its successor.
    """

    name: ClassVar[str] = "metrics"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._tasks: dict[ConnectorTaskId, _Started] = {}
        self._startups = Startups()

    def before(self, announce: Announce) -> Announce:
        """Measure steps before anybody else hears of them: an observer may block."""

        def measure(event: StepEvent) -> None:
            self.observe(event)
            announce(event)

        return measure

    def observe(self, event: StepEvent) -> None:
        if event.task is None:
            return
        with self._lock:
            metrics = self._of(event.task, event.generation or 0)
            if metrics is None:
                return
            starts, failed = metrics.starts, metrics.failed_starts
            metrics.apply(event)
            self._startups.succeeded += metrics.starts - starts
            self._startups.failed += metrics.failed_starts - failed

    def _of(self, task: ConnectorTaskId, generation: int) -> TaskMetrics | None:
        known = self._tasks.get(task)
        if known is not None and generation < known.generation:
            return None
        if known is None or generation > known.generation:
            metrics = TaskMetrics() if known is None else known.metrics.of_next_generation()
            known = self._tasks[task] = _Started(generation, metrics)
        return known.metrics

    def metrics(self, tasks: Container[ConnectorTaskId]) -> list[Metric]:
        """The values of these tasks now, and those of all starts."""
        now = self._runtime.now()
        with self._lock:
            found = [
                metric
                for task, started in sorted(self._tasks.items())
                if task in tasks
                for metric in started.metrics.metrics({"connector": task.connector, "task": str(task.task)}, now)
            ]
            return [*found, *self._startups.metrics("task")]
