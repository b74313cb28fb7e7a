"""Metrics of the tasks of this process, from their steps."""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar, NamedTuple

from eosfw.concurrency import Runtime
from eosfw.ids import ConnectorTaskId
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
        self._lock = runtime.lock()
        self._tasks: dict[ConnectorTaskId, _Started] = {}
        self._started = self._failed = 0

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
            started, failed = metrics.started, metrics.failed
            metrics.apply(event)
            self._started += metrics.started and not started
            self._failed += metrics.failed and not failed and not metrics.started

    def _of(self, task: ConnectorTaskId, generation: int) -> TaskMetrics | None:
        known = self._tasks.get(task)
        if known is not None and generation < known.generation:
            return None
        if known is None or generation > known.generation:
            known = self._tasks[task] = _Started(generation, TaskMetrics())
        return known.metrics

    def metrics(self, tasks: Container[ConnectorTaskId]) -> list[Metric]:
        """The values of these tasks now, and those of all starts."""
        with self._lock:
            found = [
                metric
                for task, started in sorted(self._tasks.items())
                if task in tasks
                for metric in started.metrics.metrics({"connector": task.connector, "task": str(task.task)})
            ]
            attempts, failed = self._started + self._failed, self._failed
        return [
            *found,
            Metric("worker-metrics", "task-startup-attempts-total", attempts, {}, "starts of tasks"),
            Metric("worker-metrics", "task-startup-success-total", attempts - failed, {}, "starts that succeeded"),
            Metric("worker-metrics", "task-startup-failure-total", failed, {}, "starts that failed"),
        ]
