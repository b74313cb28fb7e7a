"""The run of connectors until their sources are drained."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from eosfw.concurrency import Runtime
from eosfw.errors import (
    EosfwError,
    InterruptedRunError,
    RetriableError,
    SupersededError,
    TaskFailedError,
    described,
)
from eosfw.ids import ConnectorTaskId
from eosfw.pipeline.local.control import RunControl
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.pipeline.local.reporter import Reporter
from eosfw.runtime import TaskState, TaskStatus, Worker
from eosfw.state.tasks.backoff import LogBackoff
from eosfw.text import quantity

logger = logging.getLogger(__name__)

_POLL_INTERVAL = 0.05
"""Seconds between two looks at the worker."""
_CONFIRM_INTERVAL = 2.0
"""Seconds between two reads of the config topic, in which a newer run of the group would stand."""
_NOTICE_INTERVAL = 1.0
"""Seconds between two looks for notices: a look at many tasks takes a while."""


def drain(run: LocalRun, control: RunControl, reporter: Reporter, idle: float) -> None:
    """Start the worker, run every connector until it is drained, stop the worker.

    Raises the error of a failed task. When the run is asked to end, what was polled is committed first.
    """
    _run(run, control, lambda: _until_drained(run, control, reporter, idle))


def run_until_stopped(run: LocalRun, control: RunControl, reporter: Reporter, look: Callable[[], None]) -> None:
    """Start the worker, run every connector until the run is asked to end, then commit what was polled.

    `look` is called every now and then; what it raises ends the run, as the error of a failed task does.
    """
    _run(run, control, lambda: _until_stopped(run, control, reporter, look))


def _run(run: LocalRun, control: RunControl, wait: Callable[[], None]) -> None:
    # A second signal comes while a clean stop waits for a task that blocks: only closing its clients ends that.
    unregister = control.on_kill(run.worker.kill)
    try:
        _run_connectors(run, wait)
    except InterruptedRunError as asked:
        _fail_if_uncommitted(run.worker, asked)
        raise
    finally:
        unregister()
    _fail_if_failed(run.worker)


def _run_connectors(run: LocalRun, wait: Callable[[], None]) -> None:
    try:
        run.worker.start()
        run.put_connectors()
        wait()
    finally:
        run.worker.stop()


def _until_drained(run: LocalRun, control: RunControl, reporter: Reporter, idle: float) -> None:
    for confirm in _looks(run, control, reporter):
        if run.worker.drained(idle):
            confirm()
            return
    control.check()


def _until_stopped(run: LocalRun, control: RunControl, reporter: Reporter, look: Callable[[], None]) -> None:
    report = _NoticeReports(run.worker, reporter, control.runtime)
    for _ in _looks(run, control, reporter):
        report.look()
        look()
    control.check()


class _NoticeReports:
    """Warnings of notices of tasks: at once, and again behind a pause that doubles where there are more of a kind."""

    def __init__(self, worker: Worker, reporter: Reporter, runtime: Runtime) -> None:
        self._worker, self._reporter, self._runtime = worker, reporter, runtime
        self._reported: dict[tuple[ConnectorTaskId, str], int] = {}
        self._next = float("-inf")
        self._backoffs: dict[tuple[ConnectorTaskId, str], LogBackoff] = {}

    def look(self) -> None:
        """Report what is new, unless the last look was a moment ago."""
        now = self._runtime.now()
        if now < self._next:
            return
        self._next = now + _NOTICE_INTERVAL
        for task in self._worker.status().tasks:
            for notice in task.notices:
                key = task.id, notice.kind
                backoff = self._backoffs.setdefault(key, LogBackoff())
                if notice.count != self._reported.get(key) and backoff.due(now):
                    self._reported[key] = notice.count
                    self._reporter.warning(f"task {task.id}: {notice.text} ({notice.count:,})")


def _looks(run: LocalRun, control: RunControl, reporter: Reporter) -> Iterator[Callable[[], None]]:
    """Look at the worker until the run is asked to end; each time with a function that looks for a newer run."""
    worker, now = run.worker, control.runtime.now
    confirmed = now()
    while not control.stopping:
        _fail_if_failed(worker)
        worker.reload()
        reporter.committed(run.history.records, run.history.transactions)
        yield lambda: _confirm(worker)
        if now() >= confirmed + _CONFIRM_INTERVAL:
            _confirm(worker)
            confirmed = now()
        control.pause(_POLL_INTERVAL)


def _confirm(worker: Worker) -> None:
    """Raise SupersededError if a newer run of this worker group has started."""
    try:
        worker.confirm()
    except SupersededError as error:
        raise SupersededError(_superseded(str(error))) from error
    except RetriableError as error:  # an unavailable cluster makes the tasks fail
        logger.warning("could not look for a newer run of this worker group: %s", error)


def _fail_if_failed(worker: Worker) -> None:
    status = worker.status()
    if status.superseded:
        error = next((str(task.error) for task in status.tasks if task.superseded and task.error is not None), None)
        raise SupersededError(_superseded(error or "a newer generation owns its tasks"))
    if status.failures:
        raise _failure([_text(task) for task in status.failures], status.failures[0].error)
    if failures := status.connector_failures:
        texts = [f"connector {name} failed: {described(error)}" for name, error in failures.items()]
        raise _failure(texts, next(iter(failures.values())))


def _fail_if_uncommitted(worker: Worker, asked: InterruptedRunError) -> None:
    """Raise InterruptedRunError with what a clean stop could not commit, though it commits what was polled."""
    left = [task for task in worker.status().tasks if task.open_records or task.state is TaskState.FAILED]
    if left:
        records = sum(task.open_records for task in left)
        errors = "".join(f"; {_text(task)}" for task in left if task.error is not None)
        raise InterruptedRunError(
            f"interrupted: {quantity(records, 'polled record')} could not be committed{errors}; "
            f"the next run reads them again"
        ) from asked


def _superseded(how: str) -> str:
    return f"a newer run of this worker group took over ({how}); nothing is lost, and nothing is left to do here"


def _failure(texts: Sequence[str], error: BaseException | None) -> EosfwError:
    failure = TaskFailedError("\n".join(texts))
    if isinstance(error, EosfwError):
        failure.exit_code = error.exit_code
    failure.__cause__ = error
    return failure


def _text(task: TaskStatus) -> str:
    return f"task {task.id} failed" + ("" if task.error is None else f": {described(task.error)}")
