"""Metrics of a source task from its steps, under Kafka Connect's names (`ConnectMetricsRegistry`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from eosfw.state.steps import StepEvent, TaskStep


class Metric(NamedTuple):
    """One measured value; a duration is in milliseconds, as its name says."""

    group: str
    """Connect's group, such as `source-task-metrics`."""
    name: str
    value: float
    labels: Mapping[str, str] = {}
    doc: str = ""


@dataclass(slots=True)
class Sample:
    """Count, sum, least and greatest of values."""

    count: int = 0
    total: float = 0.0
    least: float = 0.0
    greatest: float = 0.0

    def add(self, value: float) -> None:
        """Take one value into account."""
        self.least = value if not self.count else min(self.least, value)
        self.greatest = value if not self.count else max(self.greatest, value)
        self.count += 1
        self.total += value

    @property
    def average(self) -> float:
        """The mean, 0 before the first value."""
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class TaskMetrics:
    """What a task of one generation has done since it was started; `apply` takes its steps in order.

    Only committed transactions have a size. Records of an aborted one do not count, so the transaction that commits
    nothing but the offsets behind them has the size 0, as in Kafka Connect.
    """

    transaction_sizes: Sample = field(default_factory=Sample)
    commit_times: Sample = field(default_factory=Sample)
    poll_times: Sample = field(default_factory=Sample)
    active: Sample = field(default_factory=Sample)
    """Records that were sent and are neither committed nor aborted, sampled whenever some are sent."""
    active_count: int = 0
    written: int = 0
    failed_commits: int = 0
    fencings: int = 0
    started: bool = False
    failed: bool = False
    _polled_at: float | None = None
    _committing_since: float | None = None

    def apply(self, event: StepEvent) -> None:
        """Take one step into account."""
        match event.step:
            case TaskStep.POLL:
                self.started, self._polled_at = True, event.at
            case TaskStep.SEND:
                self._send(event.at, _records(event))
            case TaskStep.COMMIT:
                self._committing_since = event.at
            case TaskStep.COMMITTED:
                self._committed(event.at, _records(event))
            case TaskStep.ABORTED:
                self.active_count = max(0, self.active_count - _records(event))
            case TaskStep.FENCED | TaskStep.SUPERSEDED | TaskStep.FAILED | TaskStep.STOPPED:
                self.fencings += event.step is TaskStep.FENCED
                self._ended(failed=event.step is TaskStep.FAILED)

    def _send(self, at: float, records: int) -> None:
        if self._polled_at is not None:  # the first records behind a poll
            self.poll_times.add((at - self._polled_at) * 1000)
            self._polled_at = None
        self.written += records
        self.active_count += records
        self.active.add(self.active_count)

    def _committed(self, at: float, records: int) -> None:
        self.transaction_sizes.add(records)
        self.active_count = max(0, self.active_count - records)
        if self._committing_since is not None:
            self.commit_times.add((at - self._committing_since) * 1000)
            self._committing_since = None

    def _ended(self, *, failed: bool) -> None:
        if self._committing_since is not None:
            self.failed_commits += 1
            self._committing_since = None
        self.failed, self.active_count = failed, 0

    def metrics(self, labels: Mapping[str, str]) -> Iterator[Metric]:
        """The values now, each with these labels."""
        attempts = self.commit_times.count + self.failed_commits
        succeeded = self.commit_times.count / attempts if attempts else 0.0
        failed = self.failed_commits / attempts if attempts else 0.0
        for group, name, value, doc in (
            (_SOURCE, "source-record-write-total", self.written, "records that were sent"),
            (_SOURCE, "source-record-active-count", self.active_count, "records that are not committed yet"),
            (_SOURCE, "source-record-active-count-max", self.active.greatest, "the most records not committed"),
            (_SOURCE, "source-record-active-count-avg", self.active.average, "the average of records not committed"),
            (_SOURCE, "poll-batch-avg-time-ms", self.poll_times.average, "average time of a poll that gave records"),
            (_SOURCE, "poll-batch-max-time-ms", self.poll_times.greatest, "longest time of a poll that gave records"),
            (_SOURCE, "transaction-size-min", self.transaction_sizes.least, "records in the smallest transaction"),
            (_SOURCE, "transaction-size-max", self.transaction_sizes.greatest, "records in the largest transaction"),
            (_SOURCE, "transaction-size-avg", self.transaction_sizes.average, "average of records in transactions"),
            (_SOURCE, "transactions-total", self.transaction_sizes.count, "committed transactions"),
            (_SOURCE, "producer-fenced-total", self.fencings, "how often the task lost its producer to a fencing"),
            (_TASK, "offset-commit-avg-time-ms", self.commit_times.average, "average time of a commit"),
            (_TASK, "offset-commit-max-time-ms", self.commit_times.greatest, "longest time of a commit"),
            (_TASK, "offset-commit-success-percentage", succeeded, "commits that succeeded, from 0 to 1"),
            (_TASK, "offset-commit-failure-percentage", failed, "commits that failed, from 0 to 1"),
        ):  # fmt: skip
            yield Metric(group, name, value, labels, doc)


_SOURCE, _TASK = "source-task-metrics", "connector-task-metrics"


def _records(event: StepEvent) -> int:
    records = event.detail.get("records", 0)
    return records if isinstance(records, int) else 0
