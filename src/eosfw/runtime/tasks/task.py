"""One task of one generation on its own thread, from its start to its end."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from eosfw.connectors import SourceTask
from eosfw.errors import (
    FatalError,
    IndefiniteOutcomeError,
    InterruptedRunError,
    InvalidPidMappingError,
    InvalidProducerEpochError,
    ProducerFencedError,
    RetriableError,
    SupersededError,
    described,
)
from eosfw.logging_context import LoggingContext, logging_context
from eosfw.runtime.status import TaskStatus
from eosfw.runtime.storage.topic_creation import RecordTopics
from eosfw.runtime.tasks.commit_protocol import AtLeastOnceCommit, TransactionalCommit
from eosfw.runtime.tasks.control import TaskControl
from eosfw.runtime.tasks.loop import ExactlyOnceSourceTaskLoop
from eosfw.runtime.tasks.plan import AssignedTask
from eosfw.runtime.tasks.producer_loss_recovery import ProducerLossRecovery
from eosfw.runtime.tasks.resources import TaskResources
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.runtime.tasks.startup import StartupResult, StopRequestedError, TaskStartup
from eosfw.runtime.tasks.status_recorder import TaskStatusRecorder
from eosfw.runtime.tasks.transaction import SourceTaskTransaction, TaskOutput
from eosfw.state.steps import TaskStep
from eosfw.state.storage.pending_offsets import PendingOffsets
from eosfw.state.tasks.backoff import ExponentialBackoff

logger = logging.getLogger(__name__)

PRODUCER_LOSS_ERRORS = (
    ProducerFencedError,
    InvalidProducerEpochError,
    InvalidPidMappingError,
    IndefiniteOutcomeError,
)
"""Errors after which only the config log can tell whether the task still owns its share."""

FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0
"""Seconds after a failure that may pass, before the task starts again: at first, and at most."""


class WorkerTask:
    """Runs a `SourceTask`; `trigger_stop`, `pause`, `resume`, `kill` and `status` are for other threads.

    Kafka Connect's `WorkerTask`: its `ExactlyOnceWorkerSourceTask`, or its `WorkerSourceTask` without exactly-once.
    """

    def __init__(self, task: AssignedTask, services: WorkerServices, *, paused: bool = False) -> None:
        self.id = task.id
        self._task = task
        self._services = services
        self._recorder = TaskStatusRecorder(
            task,
            services.announce,
            services.runtime,
            services.planner.transformer.redact_exception,
            services.listener,
        )
        self._control = TaskControl(services.runtime, paused=paused)
        self._resources = TaskResources(services.runtime)
        self._recovery = ProducerLossRecovery(task, services, self._recorder)
        self._transaction: SourceTaskTransaction | None = None
        self._pauses = ExponentialBackoff(FIRST_RETRY, LONGEST_RETRY)

    def status(self) -> TaskStatus:
        """The status now."""
        return self._recorder.snapshot()

    def trigger_stop(self) -> None:
        """Ask the task to finish its batch, commit and end; does not wait."""
        self._control.stop()

    def pause(self) -> None:
        """Ask the task to finish its batch, commit and wait; does not wait itself."""
        self._control.pause()

    def resume(self) -> None:
        """Ask the task to go on."""
        self._control.resume()

    def leave_behind(self) -> None:
        """Report its state no more: it did not stop in time (SCN-07)."""
        self._recorder.leave_behind()

    def cancel(self) -> None:
        """Close the clients of a task that did not stop in time, so that none of its calls blocks any more.

        Connect's `AbstractWorkerSourceTask.cancel`. An open transaction is aborted by the task's successor or its
        timeout.
        """
        self._control.stop()
        self._resources.shut_down()

    def kill(self, abort_within: float) -> None:
        """Close the task's clients; while its source is polled, abort its open transaction first.

        At other times the task's thread may be inside the producer. Then an open transaction is aborted by its timeout
        or by the task's successor.
        """
        transaction = self._transaction
        # A producer may be used by one thread at a time. Between POLL and the next step the task's thread is in the
        # connector's code, so this thread may abort; at any other step the producer may be in use.
        if transaction is None or self._recorder.last_step is not TaskStep.POLL:
            self.cancel()
            return
        transaction.abandoned = True  # first of all: once it wakes, the task would end its transaction itself
        self._control.stop()
        self._resources.shut_down(
            lambda: self._end("abort", lambda: transaction.abort_abandoned(abort_within), abandoned=True)
        )

    def run(self) -> None:
        """Run until the task ends; never raises, whatever a connector does."""
        task = self._task
        with logging_context(LoggingContext(task.id, task.generation, task.transactional_id)):
            self._run_and_report()

    def _run_and_report(self) -> None:
        recorder = self._recorder
        try:
            self._run_until_ended()
        except SupersededError as error:
            recorder.superseded(error)
        except BaseException as error:  # also SystemExit: a connector must not end the worker
            if self._resources.is_shut_down or isinstance(error, StopRequestedError | InterruptedRunError):
                recorder.stopped()
            else:
                # The status has the error, and the caller of the worker reports it; the log adds the trace.
                logger.info("task %s failed", self.id, exc_info=recorder.redacted(error))
                recorder.failed(error)
        else:
            recorder.stopped()
        finally:
            self._resources.close()

    def _run_until_ended(self) -> None:
        while self._await_resumption():
            try:
                self._run_until_producer_loss()
            except RetriableError as error:
                # Without a last attempt: a task that gave up would need somebody to restart it when the cluster is
                # back. A transaction that is still open is aborted by the fencing with which the next attempt begins.
                self._transaction = None
                self._resources.close()
                if self._resources.is_shut_down:
                    return
                self._rest_before_retry(error)
            else:
                self._resources.close()

    def _run_until_producer_loss(self) -> None:
        """Run once; return if the task may start over at once, because it still owns its share."""
        try:
            self._run_once()
        except PRODUCER_LOSS_ERRORS as error:
            lost, self._transaction = self._transaction, None
            overran = lost is not None and lost.overran_timeout()  # asked first: what follows takes its time
            self._resources.close()  # a late request of it could end the next transaction
            if not self._resources.is_shut_down:
                self._recovery.check(error, overran=overran)

    def _rest_before_retry(self, error: RetriableError) -> None:
        pause = self._pauses.next()
        why = f"the task starts again after {pause:g} s: {self._recorder.redacted(error)}"
        self._recorder.wait_for(why)
        self._recorder.open_records = 0
        logger.warning("task %s: %s", self.id, why)
        self._control.rest(pause)

    def _await_resumption(self) -> bool:
        """Wait while the task is paused; return whether it shall run. Until then it touches nothing in the cluster."""
        if self._control.paused:
            return self._recorder.while_paused(self._control.await_resumption)
        return not self._control.stopping

    def _run_once(self) -> None:
        with self._services.starts.turn(self._control) as may_start:
            if not may_start:
                return
            started = TaskStartup(self._task, self._services, self._recorder).run(self._control, self._resources)
        self._recorder.waiting = None
        self._recorder.step(TaskStep.START_TASK)
        if self._control.stopping:
            return
        source = started.plan.task_factory()
        try:
            self._run_loop(source, started)
        finally:
            self._stop_source(source)

    def _run_loop(self, source: SourceTask, started: StartupResult) -> None:
        transaction = self._transaction = self._open_output(source, started)
        plan = started.plan
        loop = ExactlyOnceSourceTaskLoop(plan, source, transaction, self._recorder, self._services.runtime)
        loop.start(started.offsets.offsets, plan.store.partition_key, started.metrics.of("task"))
        self._recorder.running(at_end=loop.before_end)
        self._pauses.reset()
        try:
            loop.run(self._control)
        except BaseException as error:
            # First: a commit in flight uses the producer, and after it there may be nothing left to abort.
            self._end("commit", transaction.await_commit)
            # A producer with such an error cannot abort, or may be fenced: the coordinator aborts, or has done so.
            if not isinstance(error, FatalError | InvalidProducerEpochError):
                self._end("abort", transaction.abort)
            raise

    def _open_output(self, source: SourceTask, started: StartupResult) -> SourceTaskTransaction:
        plan, services, producer = started.plan, self._services, started.producer
        commit_protocol = (
            TransactionalCommit(producer, plan.transaction_timeout, services.runtime)
            if plan.exactly_once
            else AtLeastOnceCommit(producer, plan.offset_flush_timeout)
        )
        output = TaskOutput(
            producer=producer,
            commit_protocol=commit_protocol,
            topics=RecordTopics(started.admin, plan.topic_groups, self._on_topic),
            offsets=started.offsets,
            pending_offsets=PendingOffsets(plan.store.partition_key, started.offsets.offsets),
            runtime=services.runtime,
        )
        return SourceTaskTransaction(plan, output, self._recorder, source)

    def _on_topic(self, topic: str) -> None:
        if self._services.listener is not None:
            self._services.listener.on_topic(self.id, topic)

    def _end(self, how: str, end: Callable[[], None], *, abandoned: bool = False) -> None:
        try:
            end()
        except Exception as error:  # noqa: BLE001 the error before it is raised; the coordinator aborts in time
            # With a producer that another thread closed there is nothing that anybody could mend.
            if abandoned or not self._resources.is_shut_down:
                logger.warning("task %s could not %s its open transaction: %s", self.id, how, error)

    def _stop_source(self, source: SourceTask) -> None:
        before = sys.exception()
        try:
            source.stop()
        except BaseException as error:
            shown, first = self._recorder.redacted(error), ""
            if before is not None and not isinstance(before, StopRequestedError | InterruptedRunError):
                first = f" with {described(self._recorder.redacted(before))}, and once more"
            logger.error("task %s failed%s when it was stopped: %s", self.id, first, described(shown), exc_info=shown)  # noqa: TRY400 the one without secrets
