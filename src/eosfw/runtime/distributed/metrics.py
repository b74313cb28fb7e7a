"""Metrics of one worker of a group under Kafka Connect's names (`ConnectMetrics`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from eosfw.concurrency import Runtime
from eosfw.observe import Metric, Metrics
from eosfw.runtime.group.membership import GroupMembership
from eosfw.runtime.hosting.executor import TaskExecutor
from eosfw.runtime.status import TaskState, TaskStatus

_SOURCE, _TASK, _ERRORS = "source-task-metrics", "connector-task-metrics", "task-error-metrics"
_WORKER, _REBALANCE = "worker-metrics", "worker-rebalance-metrics"


class WorkerMetrics:
    """Reads what tasks, runner and member know; thread-safe. Averages and extremes are since the start of a task."""

    def __init__(self, measured: Metrics, executor: TaskExecutor, member: GroupMembership, runtime: Runtime) -> None:
        self._measured, self._executor, self._member, self._runtime = measured, executor, member, runtime

    def all(self) -> list[Metric]:
        """Every value now."""
        connectors = self._executor.connectors()
        statuses = [status for connector in connectors.values() for status in connector.tasks]
        measured = self._measured.metrics({status.id for status in statuses})
        written = {
            (metric.labels["connector"], metric.labels["task"]): metric.value
            for metric in measured
            if metric.name == "source-record-write-total"
        }
        return [
            *measured,
            *(metric for status in statuses for metric in _of_task(status, written)),
            Metric(_WORKER, "connector-count", len(connectors), {}, "connectors of which this worker runs tasks"),
            Metric(_WORKER, "task-count", len(statuses), {}, "tasks that this worker runs"),
            *self._of_group(),
        ]

    def _of_group(self) -> Iterator[Metric]:
        member = self._member
        yield Metric(_REBALANCE, "epoch", member.generation, {}, "the newest generation of the group")
        yield Metric(_REBALANCE, "rebalancing", member.rebalance_expected(), {}, "1 while the group rebalances")
        leader = member.leader_url() or ""
        yield Metric(_REBALANCE, "leader-name", 1, {"leader_name": leader}, "who leads the group, as a label")
        for mode, count in sorted(Counter(member.modes().values()).items()):
            doc = "workers with this exactly.once.source.support; two modes are those of a rolling upgrade"
            yield Metric(_REBALANCE, "exactly-once-support-workers", count, {"support": mode}, doc)
        yield from self._of_rebalances()

    def _of_rebalances(self) -> Iterator[Metric]:
        found = self._member.rebalances
        since = math.inf if found.ended is None else self._runtime.now() - found.ended
        for name, value, doc in (
            ("completed-rebalances-total", found.completed, "rebalances that this worker has completed"),
            ("rebalance-avg-time-ms", found.average * 1000, "average time of a rebalance"),
            ("rebalance-max-time-ms", found.longest * 1000, "longest time of a rebalance"),
            ("time-since-last-rebalance-ms", since * 1000, "time since the last rebalance; infinite before the first"),
        ):
            yield Metric(_REBALANCE, name, value, {}, doc)


def _of_task(status: TaskStatus, written: Mapping[tuple[str, str], float]) -> Iterator[Metric]:
    labels = {"connector": status.id.connector, "task": str(status.id.task)}
    errors = status.error_handling
    polled = written.get((labels["connector"], labels["task"]), 0) + errors.records_filtered + errors.records_skipped
    yield Metric(_SOURCE, "source-record-poll-total", polled, labels, "records that were polled")
    failures = status.offset_backup_failures
    yield Metric(_SOURCE, "offset-backup-failures-total", failures, labels, "offsets that the worker's topic lacks")
    for state in TaskState:
        is_now = status.state is state
        yield Metric(_TASK, "status", is_now, {**labels, "status": state.value.lower()}, "1 for the state of the task")
    for name, value, doc in (
        ("total-record-failures", errors.record_failures, "operations on records that failed, repetitions included"),
        ("total-record-errors", errors.errors, "operations on records that failed in the end"),
        ("total-records-skipped", errors.records_skipped, "records that were dropped for an error"),
        ("total-retries", errors.retries, "repetitions of operations on records"),
        ("total-errors-logged", errors.errors_logged, "errors that were logged"),
        ("last-error-timestamp", (errors.last_error or 0) * 1000, "time of the last error, in ms since 1970; 0: none"),
    ):
        yield Metric(_ERRORS, name, value, labels, doc)
