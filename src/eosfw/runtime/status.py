"""The status of a worker, its connectors and tasks, as frozen values (Kafka Connect's `ConnectorStateInfo`).

States are those of Kafka Connect. What Connect does not have (who fenced a task, its step) has fields of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from eosfw.connectors import SourceProgress
from eosfw.ids import ConnectorTaskId
from eosfw.state.steps import TaskStep
from eosfw.text import quantity


class TaskState(Enum):
    """A task's state, by Connect's names (`AbstractStatus.State`); STOPPED is a task that was stopped on request."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    UNASSIGNED = "UNASSIGNED"
    """Starting, or superseded by a newer generation."""
    STOPPED = "STOPPED"

    @property
    def ended(self) -> bool:
        """Whether a task in this state has ended."""
        return self in (TaskState.FAILED, TaskState.STOPPED)


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user that is no error, counted by its kind."""

    kind: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class PollFailures:
    """Polls that raised RetriableError and were repeated."""

    count: int
    error: str
    """The text of the last error."""
    ongoing: bool
    """Whether the newest poll failed: then it is unknown what the source holds."""

    def __str__(self) -> str:
        return f"{quantity(self.count, 'poll')} failed, {'now' if self.ongoing else 'at last'} with: {self.error}"


@dataclass(slots=True)
class ErrorHandlingMetrics:
    """What became of records on their way (Kafka Connect's class of that name); written by the task's thread alone."""

    record_failures: int = 0
    """Failed operations on records, repetitions included."""
    errors: int = 0
    """Operations that failed in the end."""
    retries: int = 0
    records_skipped: int = 0
    """Records that were dropped because they could not be transformed or converted."""
    errors_logged: int = 0
    last_error: float | None = None
    """When the last operation failed in the end, in seconds since 1970."""
    records_filtered: int = 0
    """Records that a transformation dropped on purpose."""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """One task of one generation."""

    id: ConnectorTaskId
    generation: int
    state: TaskState
    step: TaskStep | None = None
    """The step announced last."""
    error: BaseException | None = None
    """Why it failed or was superseded; its `str` is for users."""
    trace: str | None = None
    """The error with its traceback, or which worker fenced it, or what holds it up."""
    waiting: str | None = None
    """Why its start is not over, such as a fencing that failed and is tried again, or that its process is silent; None
    if nothing holds it up."""
    superseded: bool = False
    records: int = 0
    """Records whose transaction was committed (or, without exactly-once, that were acknowledged)."""
    transactions: int = 0
    at_end: bool | None = None
    """The last answer of `SourceTask.at_end`: True, False, or None for unknown."""
    idle_since: float | None = None
    """Since when its source has given no records, on the runtime's monotonic clock. Time that was spent on sending and
    committing does not count. None while the task sends or commits."""
    open_records: int = 0
    """Records in the open transaction."""
    notices: tuple[Notice, ...] = ()
    progress: SourceProgress | None = None
    """How much of its share was read, if the source can tell."""
    poll_failures: PollFailures | None = None
    """None if no poll failed so far."""
    error_handling: ErrorHandlingMetrics = field(default_factory=ErrorHandlingMetrics)
    """A copy."""
    offset_backup_failures: int = 0
    """Offsets that were committed, yet not copied to the worker's offsets topic (OFF-09)."""

    def drained(self, now: float, idle: float) -> bool:
        """Whether its source is at its end, or does not know and has given no records for `idle` seconds."""
        if self.state is not TaskState.RUNNING or self.idle_since is None or self.at_end is False:
            return False
        if self.poll_failures is not None and self.poll_failures.ongoing:  # a source that fails may still hold records
            return False
        return self.at_end is True or now - self.idle_since >= idle


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """One connector in its newest generation."""

    name: str
    generation: int
    tasks: tuple[TaskStatus, ...] = ()
    error: BaseException | None = None
    """Why the connector itself failed, which watches its source; its `str` is for users."""


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """Everything that a worker runs or has run."""

    worker: str
    connectors: Mapping[str, ConnectorStatus] = field(default_factory=dict)
    zombies: tuple[TaskStatus, ...] = ()
    """Tasks whose thread did not stop in time and may still wake."""
    retired: tuple[TaskStatus, ...] = ()
    """Tasks of replaced generations that stopped in time, and zombies that ended."""
    superseded: bool = False
    """Whether a newer run of the group owns at least one of the connectors; then this run ends (exit code 5)."""

    @property
    def tasks(self) -> tuple[TaskStatus, ...]:
        """Every task of the newest generations."""
        return tuple(task for connector in self.connectors.values() for task in connector.tasks)

    @property
    def _all_generations(self) -> tuple[TaskStatus, ...]:
        return self.tasks + self.zombies + self.retired

    @property
    def records(self) -> int:
        """Committed records of this run, replaced generations included."""
        return sum(task.records for task in self._all_generations)

    @property
    def transactions(self) -> int:
        """Committed transactions of this run, replaced generations included."""
        return sum(task.transactions for task in self._all_generations)

    @property
    def failures(self) -> tuple[TaskStatus, ...]:
        """Tasks of the newest generations that failed."""
        return tuple(task for task in self.tasks if task.state is TaskState.FAILED)

    @property
    def connector_failures(self) -> Mapping[str, BaseException]:
        """The errors of connectors that failed themselves."""
        return {name: one.error for name, one in self.connectors.items() if one.error is not None}

    @property
    def progress(self) -> SourceProgress | None:
        """How much of all sources was read; None unless every task knows, in the same unit."""
        known = [task.progress for task in self.tasks if task.progress is not None]
        units = {one.unit for one in known}
        if len(units) != 1 or len(known) < len(self.tasks):
            return None
        return SourceProgress(sum(one.done for one in known), sum(one.total for one in known), units.pop())

    @property
    def poll_failures(self) -> Mapping[ConnectorTaskId, PollFailures]:
        """Failed polls by task, the counts of replaced generations included."""
        merged: dict[ConnectorTaskId, PollFailures] = {}
        for task in self._all_generations:
            if task.poll_failures is not None:
                known = merged.get(task.id)
                newest = known or task.poll_failures
                count = task.poll_failures.count + (0 if known is None else known.count)
                merged[task.id] = replace(newest, count=count)
        return merged

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of all tasks, with the counts of each kind added."""
        merged: dict[str, Notice] = {}
        for notice in (n for task in self._all_generations for n in task.notices):
            known = merged.get(notice.kind)
            merged[notice.kind] = (
                notice if known is None else Notice(notice.kind, notice.text, known.count + notice.count)
            )
        return tuple(merged.values())
