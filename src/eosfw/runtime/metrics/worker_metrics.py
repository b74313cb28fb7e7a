"""Metrics of the tasks and plugins of one worker under Kafka Connect's names (`ConnectMetrics`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from eosfw.observe import Metric, Metrics, PluginMetricsRegistry
from eosfw.runtime.hosting.executor import TaskExecutor
from eosfw.runtime.status import ConnectorStatus, TaskState, TaskStatus
from eosfw.state.tasks.metrics import WORKER_GROUP

_SOURCE, _TASK, _ERRORS = "source-task-metrics", "connector-task-metrics", "task-error-metrics"
_STATES: Final = ("running", "paused", "failed", "unassigned", "destroyed", "restarting")
"""Kafka Connect's `TaskStatus.State`, whose tasks are counted; none is ever destroyed here."""


class WorkerMetrics:
    """Reads what tasks, runner and plugins know; thread-safe. Averages and extremes are since the start of a task."""

    def __init__(self, measured: Metrics, executor: TaskExecutor, plugins: PluginMetricsRegistry) -> None:
        self._measured, self._executor, self._plugins = measured, executor, plugins

    def all(self) -> list[Metric]:
        """Every value now."""
        connectors = self._executor.connectors()
        statuses = [status for connector in connectors.values() for status in connector.tasks]
        ids = {status.id for status in statuses}
        measured = self._measured.metrics(ids)
        written = {
            (metric.labels["connector"], metric.labels["task"]): metric.value
            for metric in measured
            if metric.name == "source-record-write-total"
        }
        return [
            *measured,
            *(metric for status in statuses for metric in _of_task(status, written)),
            *(metric for connector in connectors.values() for metric in _of_connector(connector)),
            Metric(WORKER_GROUP, "connector-count", len(connectors), {}, "connectors of which this worker runs tasks"),
            Metric(WORKER_GROUP, "task-count", len(statuses), {}, "tasks that this worker runs"),
            *self._plugins.metrics(ids),
        ]


def _of_connector(connector: ConnectorStatus) -> Iterator[Metric]:
    labels = {"connector": connector.name}
    counts = Counter(map(_state, connector.tasks))
    for state in _STATES:
        doc = f"{state} tasks of the connector in this worker"
        yield Metric(WORKER_GROUP, f"connector-{state}-task-count", counts[state], labels, doc)
    total = len(connector.tasks)
    yield Metric(WORKER_GROUP, "connector-total-task-count", total, labels, "tasks of the connector in this worker")


def _state(status: TaskStatus) -> str:
    """The state that this worker reports to its group, in lower case."""
    if status.waiting is not None and not status.state.ended and not status.superseded:
        return "restarting"
    return TaskState.UNASSIGNED.value.lower() if status.state is TaskState.STOPPED else status.state.value.lower()


def _of_task(status: TaskStatus, written: Mapping[tuple[str, str], float]) -> Iterator[Metric]:
    labels = {"connector": status.id.connector, "task": str(status.id.task)}
    errors = status.error_handling
    polled = written.get((labels["connector"], labels["task"]), 0) + errors.records_filtered + errors.records_skipped
    yield Metric(_SOURCE, "source-record-poll-total", polled, labels, "records that were polled")
    failures = status.offset_backup_failures
    yield Metric(_SOURCE, "offset-backup-failures-total", failures, labels, "offsets that the worker's topic lacks")
    # Only the state that it is in: boards count the series of a state, whatever their values are.
    yield Metric(_TASK, "status", 1, {**labels, "status": _state(status)}, "the state of the task, as a label")
    for name, value, doc in (
        ("total-record-failures", errors.record_failures, "operations on records that failed, repetitions included"),
        ("total-record-errors", errors.errors, "operations on records that failed in the end"),
        ("total-records-skipped", errors.records_skipped, "records that were dropped for an error"),
        ("total-retries", errors.retries, "repetitions of operations on records"),
        ("total-errors-logged", errors.errors_logged, "errors that were logged"),
        ("deadletterqueue-produce-requests", 0, "always 0: records of a source have no dead letter queue"),
        ("deadletterqueue-produce-failures", 0, "always 0: records of a source have no dead letter queue"),
        ("last-error-timestamp", (errors.last_error or 0) * 1000, "time of the last error, in ms since 1970; 0: none"),
    ):
        yield Metric(_ERRORS, name, value, labels, doc)
