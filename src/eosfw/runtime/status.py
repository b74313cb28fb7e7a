"""Show what a worker does, as frozen values.

States are Kafka Connect's own; what is ours (who fenced a task, its step) stands in fields of its own.
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
    """A task's state in Connect's words; STOPPED is a task that ended as it was asked to."""

    RUNNING = "RUNNING"
    FAILED = "FAILED"
    UNASSIGNED = "UNASSIGNED"
    """Starting, or superseded by a newer generation."""
    STOPPED = "STOPPED"

    @property
    def ended(self) -> bool:
        """Whether a task in this state does nothing more by itself."""
        return self in (TaskState.FAILED, TaskState.STOPPED)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to tell the user that is no error, counted by its kind."""

    kind: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class PollFailures:
    """Polls that raised RetriableError, each of which was made again."""

    count: int
    error: str
    """What the last of them raised, for people."""
    ongoing: bool
    """Whether the newest poll is one of them: nobody knows what its source holds."""

    def __str__(self) -> str:
        return f"{quantity(self.count, 'poll')} failed, {'now' if self.ongoing else 'at last'} with: {self.error}"


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """One task of one generation."""

    id: ConnectorTaskId
    generation: int
    state: TaskState
    step: TaskStep | None = None
    """The step announced last."""
    error: BaseException | None = None
    """Why it failed or was superseded; `str` of it is for people."""
    trace: str | None = None
    """The same with its traceback, or who fenced it."""
    superseded: bool = False
    records: int = 0
    """Records whose transaction was committed (or, without exactly-once, that were acknowledged)."""
    transactions: int = 0
    at_end: bool | None = None
    """What the source answered last: nothing more to give, more, unknown."""
    idle_since: float | None = None
    """Since when its source has given no records, on the runtime's monotonic clock, time for sending and committing
    left out; None while it sends or commits."""
    open_records: int = 0
    """Records in the open transaction."""
    notices: tuple[Notice, ...] = ()
    progress: SourceProgress | None = None
    """How much of its share was read, if the source can tell."""
    poll_failures: PollFailures | None = None
    """None: every poll succeeded so far, or failed the task."""


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """One connector in its newest generation."""

    name: str
    generation: int
    tasks: tuple[TaskStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """Everything a worker runs, or ran."""

    worker: str
    connectors: Mapping[str, ConnectorStatus] = field(default_factory=dict)
    zombies: tuple[TaskStatus, ...] = ()
    """Abandoned tasks: their thread did not stop in time and may still wake."""
    retired: tuple[TaskStatus, ...] = ()
    """Tasks of replaced generations that stopped in time, and zombies that ended."""
    superseded: bool = False
    """A newer run of the group owns at least one of the connectors: this run is over (exit code 5)."""

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
    def progress(self) -> SourceProgress | None:
        """How much of all sources was read, if every task can tell in one unit."""
        known = [task.progress for task in self.tasks if task.progress is not None]
        units = {one.unit for one in known}
        if len(units) != 1 or len(known) < len(self.tasks):
            return None
        return SourceProgress(sum(one.done for one in known), sum(one.total for one in known), units.pop())

    @property
    def poll_failures(self) -> Mapping[ConnectorTaskId, PollFailures]:
        """What went wrong at the sources of tasks, counts of replaced generations added up."""
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
        """Notices of all tasks, counts added up by kind."""
        merged: dict[str, Notice] = {}
        for notice in (n for task in self._all_generations for n in task.notices):
            known = merged.get(notice.kind)
            merged[notice.kind] = (
                notice if known is None else Notice(notice.kind, notice.text, known.count + notice.count)
            )
        return tuple(merged.values())
