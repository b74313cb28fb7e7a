"""Metrics of a source task from its steps, under Kafka Connect's names (`ConnectMetricsRegistry`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from eosfw.state.steps import STARTUP, StepEvent, TaskStep
from eosfw.state.tasks.state_times import Activity, StateTimes

WORKER_GROUP = "connect-worker-metrics"
"""Kafka Connect's group of what a worker measures of itself."""
_STARTUP = frozenset(STARTUP)


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
    batches: int = 0
    """Polls that gave records which were sent."""
    largest_batch: int = 0
    failed_commits: int = 0
    fencings: int = 0
    starts: int = 0
    """Also of the task's earlier generations, as the counts below: what is to be alerted on must not begin anew."""
    failed_starts: int = 0
    failed_fencing_requests: int = 0
    times: StateTimes = field(default_factory=StateTimes)
    _before_pause: Activity = Activity.STARTING
    _requesting_fencing: bool = False
    _batch: int = 0
    """Records of the newest poll that were sent."""
    _polled_at: float | None = None
    _committing_since: float | None = None
    _open_since: float | None = None

    def of_next_generation(self) -> TaskMetrics:
        """Those of the task's next generation: new but for the counts of starts and of fencings that failed."""
        return TaskMetrics(
            starts=self.starts,
            failed_starts=self.failed_starts,
            failed_fencing_requests=self.failed_fencing_requests,
        )

    def apply(self, event: StepEvent) -> None:
        """Take one step into account."""
        match event.step:
            case TaskStep.POLL:
                self._poll(event.at)
            case TaskStep.BEGIN:
                self._open_since = event.at
            case TaskStep.SEND:
                self._send(event.at, _records(event))
            case TaskStep.COMMIT:
                self._committing_since = event.at
            case TaskStep.COMMITTED:
                self._committed(event.at, _records(event))
            case TaskStep.ABORTED:
                self._decided(_records(event))
            case TaskStep.PAUSED | TaskStep.RESUMED:
                self._pause(event)
            case TaskStep.FENCED | TaskStep.SUPERSEDED | TaskStep.FAILED | TaskStep.STOPPED:
                self._ended(event)
            case step if step in _STARTUP:
                self._starting(event)

    def _decided(self, records: int) -> None:
        self._open_since = None
        self.active_count = max(0, self.active_count - records)

    def _pause(self, event: StepEvent) -> None:
        if event.step is TaskStep.RESUMED:
            self.times.enter(self._before_pause, event.at)
            return
        self._before_pause = self.times.current or Activity.STARTING
        self.times.enter(Activity.PAUSED, event.at)

    def _starting(self, event: StepEvent) -> None:
        requests = event.step is TaskStep.REQUEST_FENCING
        # The step behind a request says that it was answered; another request, that it was not.
        self.failed_fencing_requests += requests and self._requesting_fencing
        self._requesting_fencing = requests
        self._discard()  # a commit whose answer was lost ends with no step: the task starts over
        if self.times.current is Activity.ENDED:  # another start of the same task
            self.times = StateTimes()
        self.times.enter(Activity.STARTING, event.at)

    def _poll(self, at: float) -> None:
        if self.times.current is not Activity.RUNNING:
            self.starts += 1
            self.times.enter(Activity.RUNNING, at)
        self._polled_at, self._batch = at, 0

    def _send(self, at: float, records: int) -> None:
        if self._polled_at is not None:  # the first records behind a poll
            self.poll_times.add((at - self._polled_at) * 1000)
            self._polled_at = None
        self.batches += not self._batch
        self._batch += records
        self.largest_batch = max(self.largest_batch, self._batch)
        self.written += records
        self.active_count += records
        self.active.add(self.active_count)

    def _committed(self, at: float, records: int) -> None:
        self.transaction_sizes.add(records)
        self._decided(records)
        if self._committing_since is not None:
            self.commit_times.add((at - self._committing_since) * 1000)
            self._committing_since = None

    def _ended(self, event: StepEvent) -> None:
        self._discard()
        self.fencings += event.step is TaskStep.FENCED
        if event.step is TaskStep.FAILED:
            self.failed_starts += self.times.current in (None, Activity.STARTING)
            self.failed_fencing_requests += self._requesting_fencing
        self._requesting_fencing = False
        # A task that was fenced starts over.
        self.times.enter(Activity.STARTING if event.step is TaskStep.FENCED else Activity.ENDED, event.at)

    def _discard(self) -> None:
        """Whatever is open is not committed, as far as anybody knows."""
        self.failed_commits += self._committing_since is not None
        self.active_count, self._committing_since, self._open_since = 0, None, None

    def metrics(self, labels: Mapping[str, str], now: float) -> Iterator[Metric]:
        """The values now, each with these labels."""
        open_for = 0.0 if self._open_since is None else max(0.0, now - self._open_since) * 1000
        batch = self.written / self.batches if self.batches else 0.0
        running, paused = (self.times.ratio(state, now) for state in (Activity.RUNNING, Activity.PAUSED))
        attempts = max(1, self.commit_times.count + self.failed_commits)
        succeeded, failed = self.commit_times.count / attempts, self.failed_commits / attempts
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
            (_SOURCE, "fencing-failures-total", self.failed_fencing_requests, "requests for a fencing that failed"),
            (_SOURCE, "open-transaction-age-ms", open_for, "since when the open transaction is open; 0: none"),
            (_TASK, "starts-total", self.starts, "starts that succeeded, also after fencings"),
            (_TASK, "running-ratio", running, "share of time in which it ran, from 0 to 1"),
            (_TASK, "pause-ratio", paused, "share of time in which it was paused, from 0 to 1"),
            (_TASK, "batch-size-avg", batch, "average of records of a poll that were sent"),
            (_TASK, "batch-size-max", self.largest_batch, "the most records of a poll that were sent"),
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
