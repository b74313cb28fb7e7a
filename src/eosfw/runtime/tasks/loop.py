"""The loop of a task: poll, send, end transactions where the boundary says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw.connectors import SourceTask, TransactionContext
from eosfw.errors import RetriableError, TaskFailedError
from eosfw.ids import ConnectorTaskId
from eosfw.plugin_metrics import PluginMetrics
from eosfw.records import Primitive, SourceOffset, SourcePartition
from eosfw.runtime.records.poll_result import has_records, read_poll_result
from eosfw.runtime.records.retry_with_tolerance import ErrorReporter, RetryWithToleranceOperator
from eosfw.runtime.records.stages import RecordStages
from eosfw.runtime.tasks.control import TaskControl
from eosfw.runtime.tasks.plan import TaskPlan
from eosfw.runtime.tasks.status_recorder import TaskStatusRecorder
from eosfw.runtime.tasks.transaction import SourceTaskTransaction
from eosfw.state.steps import TaskStep
from eosfw.state.tasks.backoff import LogBackoff
from eosfw.state.tasks.boundary import Boundary, BoundaryError, End, RequestedBoundary, split
from eosfw.state.tasks.poll_batch import PollBatch, SourcePosition
from eosfw.state.tasks.stalled_offsets import POLLS, StalledOffsets

logger = logging.getLogger(__name__)

IDLE_PAUSE = 0.1
"""Seconds to pause after a poll that returned nothing, or that failed and names no pause itself."""
LONGEST_IDLE_PAUSE = 1.0
"""What that pause grows to while a source stays empty (as long as Kafka's file connector waits in its `poll`)."""
LONGEST_PAUSE = 3600.0
"""The longest single wait, since a clock cannot wait for ever; longer waits consist of several."""
PROGRESS_INTERVAL = 0.2
"""Seconds between two calls of `SourceTask.progress`."""


@dataclass(slots=True)
class TaskContext:
    """The `SourceTaskContext` of a running task; Kafka Connect's `WorkerSourceTaskContext`."""

    task_id: ConnectorTaskId
    transaction: TransactionContext | None
    record_offsets: bool
    metrics: PluginMetrics
    _offsets: Mapping[str, tuple[SourcePartition, SourceOffset]]
    _key_of: Callable[[SourcePartition], str]
    _notice: Callable[[str, str, int], None]

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """The committed offset of a source partition."""
        found = self._offsets.get(self._key_of(partition))
        return None if found is None else found[1]

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Show a notice to the user."""
        self._notice(kind, text, count)


class ExactlyOnceSourceTaskLoop:
    """The work of a started task on its thread; the loop of Kafka Connect's `AbstractWorkerSourceTask`."""

    def __init__(
        self,
        plan: TaskPlan,
        source: SourceTask,
        transaction: SourceTaskTransaction,
        recorder: TaskStatusRecorder,
        runtime: Runtime,
    ) -> None:
        self._plan, self._source, self._transaction = plan, source, transaction
        self._recorder, self._runtime = recorder, runtime
        # Of a source that knows its end a poll may take longer than the time without records that ends a run.
        self.before_end = None if type(source).at_end is SourceTask.at_end else False
        """Whether the source is at its end while it has not been asked since its last records; None for unknown."""
        self._boundary: Boundary = plan.boundary()
        self._stalled_offsets = StalledOffsets()
        self._passed: list[dict[str, Primitive]] = []
        """The source offsets of the last poll without records."""
        self._next_progress = 0.0
        self._log_backoff = LogBackoff()
        self._stages: RecordStages | None = None
        """What changes records on their way; None if nothing does."""

    def start(
        self,
        offsets: Mapping[str, tuple[SourcePartition, SourceOffset]],
        key_of: Callable[[SourcePartition], str],
        metrics: PluginMetrics,
    ) -> None:
        """Start the connector's task at its committed offsets."""
        requested = self._boundary if isinstance(self._boundary, RequestedBoundary) else None
        context = TaskContext(
            task_id=self._plan.id,
            transaction=requested,
            record_offsets=self._transaction.record_offsets,
            metrics=metrics,
            _offsets=offsets,
            _key_of=key_of,
            _notice=self._recorder.notice,
        )
        self._source.start(self._plan.config, context)

    def run(self, control: TaskControl) -> None:
        """Poll and send until the task is asked to end, then commit what was sent (TXN-11).

        A pause commits as well (TXN-12). If it cannot, `run` returns, since the task has to start over.
        """
        self._stages = self._record_stages(control)
        while True:
            self._boundary.start(self._runtime.now())
            while control.running:
                self._poll_and_send(control)
            # What was aborted at a pause must be read again, and only a new start reads committed offsets.
            if not self._commit_or_abort() or not control.paused:
                return
            if not self._recorder.while_paused(control.await_resumption):
                return
            self._recorder.active()

    def _poll_and_send(self, control: TaskControl) -> None:
        began = self._runtime.now()
        try:
            polled = self._poll()
        except RetriableError as error:
            self._wait_to_poll_again(error, control)
            return
        some = has_records(polled)
        if some:
            self._recorder.at_end = self.before_end
        with self._recorder.working():
            self._send(polled)
        if some:
            self._recorder.active()
            self._watch(polled[-1].positions[-1])
        else:
            self._recorder.at_end = self._at_end()
            self._rest(polled, control, began)
        self._ask_progress()

    def _commit_or_abort(self) -> bool:
        """Commit what was sent, if the boundary lets; return whether nothing was left to abort."""
        with self._recorder.working():
            self._transaction.await_commit()
            self._end(self._boundary.at_stop())
            left = self._transaction.open
            if left and self._recorder.at_end:
                self._report_unended()
            self._transaction.abort()  # an open transaction would hold back readers until it times out
        return not left

    def _report_unended(self) -> None:
        """Tell of records that no commit follows: whoever sees the source drained takes them for written."""
        self._recorder.notice(
            "records without a commit",
            f"task {self._plan.id} has come to the end of its source in a transaction that its connector has not "
            f"ended: these records are discarded, and read again at the next start; have it call "
            f"`context.transaction.commit` where a transaction of its source ends",
            self._recorder.open_records,
        )

    def _record_stages(self, control: TaskControl) -> RecordStages | None:
        plan = self._plan
        if plan.record_parts is None:
            return None
        recorder = self._recorder
        reporter = ErrorReporter(recorder.error_handling, recorder.notice, recorder.redacted)
        operator = RetryWithToleranceOperator(
            plan.id, plan.error_handling, self._runtime, reporter, control.wait_for_stop
        )
        return RecordStages(plan.record_parts, operator)

    def _at_end(self) -> bool | None:
        at_end = self._source.at_end()
        if at_end:
            with self._own_faults():
                self._boundary.at_end()
        return at_end

    def _ask_progress(self) -> None:
        now = self._runtime.now()
        if now >= self._next_progress:
            self._next_progress = now + PROGRESS_INTERVAL
            self._recorder.progress = self._source.progress()

    def _rest(self, polled: Sequence[PollBatch], control: TaskControl, began: float) -> None:
        """Pause after a poll without records, unless an empty batch states that the source has moved on.

        The pause is counted from the begin of the poll: one that waits for records itself misses them no longer.
        """
        passed = [dict(offset) for batch in polled for _, offset in batch.positions if offset]
        # An empty batch with a new offset is progress: a source that skips a long stretch must not pause at each step.
        if passed == self._passed:
            pause = began + self._idle_pause() - self._runtime.now()
            if pause > 0:
                control.rest(pause)
        self._passed = passed

    def _idle_pause(self) -> float:
        """A tenth of the time that the source has been empty: a thousand idle tasks must not keep a worker busy."""
        since = self._recorder.idle_since
        if since is None or self._transaction.open:  # what was sent must be committed when its boundary is due
            return IDLE_PAUSE
        return min(LONGEST_IDLE_PAUSE, max(IDLE_PAUSE, (self._runtime.now() - since) / 10))

    def _watch(self, last: SourcePosition) -> None:
        if self._stalled_offsets.is_stalled_after(last):
            partition, offset = last
            where = f"source partition {dict(partition)}, source offset {dict(offset)}"
            self._recorder.notice(
                "source offsets stand still",
                f"task {self._plan.id} returned records in {POLLS} polls without moving past {where}: whoever resumes "
                f"there reads them again",
            )

    def _poll(self) -> Sequence[PollBatch]:
        self._recorder.step(TaskStep.POLL)
        polled = read_poll_result(self._source.poll(), self._plan.id, any_data=self._stages is not None)
        if self._recorder.poll_succeeded():
            self._log_backoff.reset()
        return polled

    def _wait_to_poll_again(self, error: RetriableError, control: TaskControl) -> None:
        """Report a poll that failed (TXN-18), then pause; a transaction that is due meanwhile is ended."""
        now = self._runtime.now()
        failures = self._recorder.poll_failed(error)
        if self._log_backoff.due(now):
            logger.warning("task %s polls again: %s", self._plan.id, failures)
        until = now + (IDLE_PAUSE if error.retry_after is None else error.retry_after)
        while True:
            with self._recorder.working():
                self._transaction.await_commit()
                with self._own_faults():
                    self._end(self._boundary.after_failed_poll(self._runtime.now()))
            left = until - self._runtime.now()
            if left <= 0 or not control.running:
                return
            control.rest(min(left, IDLE_PAUSE if self._transaction.open else LONGEST_PAUSE))

    def _send(self, polled: Sequence[PollBatch]) -> None:
        prepared = polled if self._stages is None else self._stages.apply(polled)
        # The next transaction begins after the end of the one before.
        self._transaction.await_commit()
        with self._own_faults():
            for piece, end in split(prepared, self._boundary, self._runtime.now):
                self._transaction.send(piece)
                # After a poll without records nothing is gained, and a source at its end would not be drained yet.
                self._end(end, overlap=has_records(polled))
        self._transaction.deliver()

    @contextmanager
    def _own_faults(self) -> Iterator[None]:
        try:
            yield
        except BoundaryError as error:
            raise TaskFailedError(f"task {self._plan.id}: {error}") from None

    def _end(self, how: End, *, overlap: bool = False) -> None:
        if how is End.COMMIT:
            self._transaction.commit(overlap=overlap)
        elif how is End.ABORT:
            self._transaction.abort_then_pass()
