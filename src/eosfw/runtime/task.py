"""Run one task of one generation, from its start to whatever ends it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from eosfw.connectors import SourceTask
from eosfw.errors import (
    FatalError,
    IndefiniteOutcomeError,
    InterruptedRunError,
    InvalidProducerEpochError,
    ProducerFencedError,
    SupersededError,
    described,
)
from eosfw.runtime.belongings import Belongings
from eosfw.runtime.board import TaskBoard
from eosfw.runtime.delivery import PlainDelivery, TransactionalDelivery
from eosfw.runtime.loop import Loop
from eosfw.runtime.plan import Surroundings, TaskPlan
from eosfw.runtime.recovery import Recovery
from eosfw.runtime.startup import Started, Startup, StopAskedError
from eosfw.runtime.status import TaskStatus
from eosfw.runtime.topics import RecordTopics
from eosfw.runtime.transaction import TaskOutput, Transaction
from eosfw.state.offsets import PendingOffsets
from eosfw.state.steps import TaskStep

logger = logging.getLogger(__name__)

LOST = (ProducerFencedError, InvalidProducerEpochError, IndefiniteOutcomeError)
"""Errors after which only the config log can tell whether the task still owns its share."""


class Task:
    """A task's life on its own thread; `ask_to_stop`, `kill`, `status` are for other threads.

    Kafka Connect's `WorkerSourceTask`, or its `ExactlyOnceWorkerSourceTask` where the plan says exactly once.
    """

    def __init__(self, plan: TaskPlan, around: Surroundings) -> None:
        self.plan = plan
        self._around = around
        self._board = TaskBoard(plan, around.announce, around.runtime)
        self._stop = around.runtime.event()
        self._belongings = Belongings(around.runtime)
        self._recovery = Recovery(plan, around, self._board)
        self._transaction: Transaction | None = None

    def status(self) -> TaskStatus:
        """What it does now."""
        return self._board.snapshot()

    def ask_to_stop(self) -> None:
        """Have it finish its batch, commit, end."""
        self._stop.set()

    def kill(self, abort_within: float) -> None:
        """Close its clients; abort first, within some seconds, what it holds open while it is in its source's hands.

        Elsewhere its own thread uses the producer: what is open then aborts with its timeout, or its successor.
        """
        transaction = self._transaction
        if transaction is None or self._board.now_at is not TaskStep.POLL:
            self._stop.set()
            self._belongings.take_away()
            return
        transaction.abandoned = True  # before anything wakes the task, which would end its transaction as well
        self._stop.set()
        self._belongings.take_away(lambda: self._logged(lambda: transaction.abort_abandoned(abort_within)))

    def run(self) -> None:
        """Live; never raises, whatever a connector does."""
        board = self._board
        try:
            self._live()
        except SupersededError as error:
            board.gave_way(error)
        except BaseException as error:  # also SystemExit: a connector must not end the worker
            if self._belongings.taken_away or isinstance(error, StopAskedError | InterruptedRunError):
                board.stopped()
            else:
                # Whoever runs the worker finds it in the status, tells it once, ends: what is left is the trace.
                logger.info("task %s failed", self.plan.id, exc_info=True)
                board.failed(error)
        else:
            board.stopped()
        finally:
            self._belongings.let_go()

    def _live(self) -> None:
        while True:
            try:
                return self._run_once()
            except LOST as error:
                self._belongings.let_go()  # never used again: a late end of it may still arrive
                if self._belongings.taken_away:
                    return None
                self._recovery.check(error)
            if self._stop.is_set():
                return None

    def _run_once(self) -> None:
        started = Startup(self.plan, self._around, self._board).run(self._stop, self._belongings)
        self._board.step(TaskStep.START_TASK)
        if self._stop.is_set():
            return
        source = self.plan.make()
        try:
            self._go(source, started)
        finally:
            self._stop_source(source)

    def _go(self, source: SourceTask, started: Started) -> None:
        transaction = self._transaction = self._transaction_over(source, started)
        loop = Loop(self.plan, source, transaction, self._board, self._around.runtime)
        loop.start(started.offsets, self.plan.store.partition_key)
        self._board.running()
        try:
            loop.run(self._stop)
        except (FatalError, InvalidProducerEpochError):
            raise
        except BaseException:
            self._logged(transaction.abort)
            raise

    def _transaction_over(self, source: SourceTask, started: Started) -> Transaction:
        plan, around, producer = self.plan, self._around, started.producer
        delivery = (
            TransactionalDelivery(producer, plan.transaction_timeout, around.runtime)
            if plan.exactly_once
            else PlainDelivery(producer, plan.transaction_timeout)
        )
        output = TaskOutput(
            producer,
            delivery,
            RecordTopics(started.admin, *plan.record_topics),
            plan.store,
            PendingOffsets(plan.store.partition_key, started.offsets),
            around.runtime,
            around.backend.capabilities.batch_headers,
        )
        return Transaction(plan, output, self._board, source)

    def _logged(self, abort: Callable[[], None]) -> None:
        try:
            abort()
        except Exception as error:  # noqa: BLE001 what failed before says more; the coordinator aborts in time
            logger.warning("task %s could not abort its open transaction: %s", self.plan.id, error)

    def _stop_source(self, source: SourceTask) -> None:
        try:
            source.stop()
        except BaseException as error:
            logger.exception("task %s failed when it was stopped: %s", self.plan.id, described(error))  # noqa: TRY401 a log without traces must tell it too
