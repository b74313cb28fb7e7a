"""Recorder of a task's status (what Kafka Connect's `TaskStatus.Listener` reports to its `StatusBackingStore`)."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from eosfw.concurrency import Runtime
from eosfw.connectors import SourceProgress
from eosfw.errors import described
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.status import ErrorHandlingMetrics, Notice, PollFailures, TaskState, TaskStatus
from eosfw.runtime.tasks.plan import AssignedTask
from eosfw.state.steps import Announce, StepEvent, TaskStep
from eosfw.state.tasks.backoff import LogBackoff


class TaskListener(Protocol):
    """Hears of tasks, on their threads; must not block (Kafka Connect's `TaskStatus.Listener`)."""

    def on_status(self, status: TaskStatus) -> None:
        """Called when a task's state has changed."""

    def on_topic(self, task: ConnectorTaskId, topic: str) -> None:
        """Called for every batch of records that a task sends, with its topic (KIP-558)."""

    def on_notice(self, task: ConnectorTaskId, notice: Notice) -> None:
        """Called now and then, ever more rarely, while a task reports what is no error; with the sum of its kind."""


class TaskStatusRecorder:
    """The status of one task, read by any thread; written by the task's, and by its commit while that one polls."""

    def __init__(
        self,
        task: AssignedTask,
        announce: Announce,
        runtime: Runtime,
        redacted: Callable[[BaseException], BaseException] = lambda error: error,
        listener: TaskListener | None = None,
    ) -> None:
        self._task, self._announce, self._runtime = task, announce, runtime
        self._listener = listener
        self.redacted = redacted
        """Takes the values of config providers out of an error, before it is kept or logged."""
        self._notices: dict[str, Notice] = {}
        self._told: dict[str, LogBackoff] = {}
        """When the listener heard of a kind of notice."""
        self.last_step: TaskStep | None = None
        """The step announced last."""
        self._trace: str | None = None
        self._state = TaskState.UNASSIGNED
        self.error: BaseException | None = None
        self.waiting: str | None = None
        self._superseded = False
        self.records = self.transactions = self.open_records = 0
        self.at_end: bool | None = None
        self.idle_since: float | None = None
        self.progress: SourceProgress | None = None
        self._poll_failures: PollFailures | None = None
        self.error_handling = ErrorHandlingMetrics()
        self._offset_backup_failures = 0

    def step(self, step: TaskStep, transaction: int | None = None, **detail: object) -> None:
        """Announce a step of the task's thread, and show it in the status; an observer may block this thread."""
        self.last_step = step
        self.announce(step, transaction, **detail)

    def announce(self, step: TaskStep, transaction: int | None = None, **detail: object) -> None:
        """Announce a step; of any thread of the task."""
        self._announce(
            StepEvent(
                step=step,
                at=self._runtime.now(),
                wall=self._runtime.wall(),
                connector=self._task.id.connector,
                task=self._task.id,
                generation=self._task.generation,
                transactional_id=self._task.transactional_id,
                transaction=transaction,
                detail=detail,
            )
        )

    @property
    def state(self) -> TaskState:
        """The state now; setting it tells the listener, so what belongs to a state is set before."""
        return self._state

    @state.setter
    def state(self, state: TaskState) -> None:
        self._state = state
        listener = self._listener  # once: `leave_behind` comes from another thread
        if listener is not None:
            listener.on_status(self.snapshot())

    def wait_for(self, why: str) -> None:
        """Show what the task waits for before it starts; the listener hears of it, too."""
        self.waiting = why
        self.state = self._state

    def leave_behind(self) -> None:
        """Tell the listener nothing more: the task did not stop in time, and another one may report instead."""
        self._listener = None

    def running(self, *, at_end: bool | None) -> None:
        """Note that the task runs; idle time counts from now, since a start may take long."""
        self.at_end = at_end
        self.active()
        self.state = TaskState.RUNNING

    def while_paused(self, await_resumption: Callable[[], bool]) -> bool:
        """Show the task as paused during a wait, and then as before if the wait says that it goes on."""
        before, self.state = self.state, TaskState.PAUSED
        self.step(TaskStep.PAUSED)
        if not await_resumption():
            return False
        self.state = before
        self.step(TaskStep.RESUMED)
        return True

    def committed(self, records: int) -> None:
        """Count a committed transaction and its records."""
        self.records += records
        self.transactions += 1
        self.open_records = 0

    def offset_backup_failed(self) -> None:
        """Count an offset that was not copied to the worker's topic; called by the thread of the backup alone."""
        self._offset_backup_failures += 1

    def active(self) -> None:
        """Note that the source is not idle."""
        self.idle_since = self._runtime.now()

    def poll_failed(self, error: BaseException) -> PollFailures:
        """Count a poll that will be repeated; until then it is unknown what the source holds.

        The listener hears of the first one, and of the poll that succeeds.
        """
        known = self._poll_failures
        count = 1 if known is None else known.count + 1
        self._poll_failures = PollFailures(count, " ".join(described(self.redacted(error)).split()), ongoing=True)
        self.at_end = None
        self.active()
        if known is None or not known.ongoing:
            self.state = self._state
        return self._poll_failures

    def poll_succeeded(self) -> bool:
        """Note that a poll succeeded; return whether the one before had failed."""
        known = self._poll_failures
        if known is None or not known.ongoing:
            return False
        self._poll_failures = replace(known, ongoing=False)
        self.state = self._state
        return True

    @contextmanager
    def working(self) -> Iterator[None]:
        """Stop the idle clock while the task sends or commits."""
        # After an exception it stays stopped: a task that is about to fail must not count as drained.
        since, began = self.idle_since, self._runtime.now()
        self.idle_since = None
        yield
        self.idle_since = None if since is None else since + self._runtime.now() - began

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Keep a message for the user: of each kind the first text, and the sum of the counts."""
        known = self._notices.get(kind)
        merged = Notice(kind, text if known is None else known.text, (0 if known is None else known.count) + count)
        self._notices = {**self._notices, kind: merged}  # a new mapping: another thread may be reading the old one
        listener = self._listener  # once: `leave_behind` comes from another thread
        if listener is not None and self._told.setdefault(kind, LogBackoff()).due(self._runtime.now()):
            listener.on_notice(self._task.id, replace(merged, text=text))

    def failed(self, error: BaseException) -> None:
        """Note that the task failed, with the trace."""
        error = self.redacted(error)
        self.error, self.waiting = error, None
        self._trace = "".join(traceback.format_exception(error))
        _forget_frames(error)
        self.state = TaskState.FAILED
        self.step(TaskStep.FAILED, error=described(error))

    def superseded(self, error: BaseException) -> None:
        """Note that the task ended because a newer generation owns it."""
        self.error, self.waiting = error, None
        self._trace = str(error)
        _forget_frames(error)
        self._superseded = True
        self.state = TaskState.UNASSIGNED
        self.step(TaskStep.SUPERSEDED, error=str(error))

    def stopped(self) -> None:
        """Note that the task ended on request."""
        self.waiting = None
        self.state = TaskState.STOPPED
        self.step(TaskStep.STOPPED)

    def snapshot(self) -> TaskStatus:
        """The status now, frozen."""
        return TaskStatus(
            id=self._task.id,
            generation=self._task.generation,
            state=self.state,
            step=self.last_step,
            error=self.error,
            trace=self.waiting or self._trace,
            waiting=self.waiting,
            superseded=self._superseded,
            records=self.records,
            transactions=self.transactions,
            at_end=self.at_end,
            idle_since=self.idle_since,
            open_records=self.open_records,
            notices=tuple(self._notices.values()),
            progress=self.progress,
            poll_failures=self._poll_failures,
            error_handling=replace(self.error_handling),
            offset_backup_failures=self._offset_backup_failures,
        )


def _forget_frames(error: BaseException) -> None:
    """Clear the frames of an error: the status keeps the error, and with its frames it would keep open clients."""
    errors: list[BaseException | None] = [error]
    for one in errors:
        if one is not None:
            traceback.clear_frames(one.__traceback__)
            errors += [other for other in (one.__cause__, one.__context__) if other not in errors]
