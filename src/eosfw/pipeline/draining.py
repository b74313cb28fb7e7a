"""Run connectors until their sources have nothing more to give (ruling 12)."""

from __future__ import annotations

from eosfw.errors import EosfwError, SupersededError, TaskFailedError
from eosfw.pipeline.control import Control
from eosfw.pipeline.local import LocalRun
from eosfw.pipeline.reporting import Reporter
from eosfw.runtime import TaskStatus, Worker

_LOOK = 0.05
"""Seconds between two looks at the worker."""


def drain(run: LocalRun, control: Control, reporter: Reporter, idle: float) -> None:
    """Start the worker, run every connector until drained, stop it; raises what made it end otherwise.

    Asked to end, it stops cleanly: what was polled commits (ruling 16).
    """
    forget = control.on_kill(run.worker.kill)
    try:
        run.worker.start()
        run.put_connectors()
        _until_drained(run, control, reporter, idle)
    finally:
        run.worker.stop()
        forget()
    _fail_if_failed(run.worker)


def _until_drained(run: LocalRun, control: Control, reporter: Reporter, idle: float) -> None:
    worker = run.worker
    while not control.stopping:
        _fail_if_failed(worker)
        reporter.working(run.history.records, run.history.transactions)
        if worker.drained(idle):
            return
        control.pause(_LOOK)
    control.check()


def _fail_if_failed(worker: Worker) -> None:
    status = worker.status()
    if status.superseded:
        raise SupersededError(_superseded([task for task in status.tasks if task.superseded]))
    for task in status.failures:
        raise _failure(task)


def _superseded(tasks: list[TaskStatus]) -> str:
    said = next((str(task.error) for task in tasks if task.error is not None), "a newer generation owns its tasks")
    return f"a newer run of this worker group took over ({said}); nothing is lost, and nothing is left to do here"


def _failure(task: TaskStatus) -> EosfwError:
    error = task.error
    text = f"task {task.id} failed: {error}" if error is not None else f"task {task.id} failed"
    failure = TaskFailedError(text)
    if isinstance(error, EosfwError):
        failure.exit_code = error.exit_code
    failure.__cause__ = error
    return failure
