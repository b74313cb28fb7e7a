"""The Spark jobs of one generation of a connector: each a barrier stage with a task for each of its tasks."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, StepFailedError
from eosfw.protocols import TaskJobSpec
from eosfw_spark.clients import plugins
from eosfw_spark.root_cause import Cause, root_cause

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)

MOST_FAILURES: Final = 5
"""How often in a row a job is submitted, before its tasks have failed."""
HEALTHY: Final = 60.0
"""Seconds after which a job that ran so long counts as healthy: failures before it are forgotten."""
_PAUSE: Final = 1.0
_NUMBERS: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class JobServices:
    """What a job uses of its session."""

    context: SparkContext
    runtime: Runtime
    await_slots: Callable[[TaskJobSpec], None]
    """Returns once there is room for all tasks; ConfigError if there will be none."""


class BarrierJob:
    """The `TaskJob` of Spark; `cancel` is for any thread.

    In a barrier stage all tasks start together or none does, and when one dies Spark ends the others. Spark does not
    start such a stage again if it is a job's last one; so the job is submitted again. Nothing is repeated or lost: each
    task initialises its transactional id, which fences whoever had it, and then reads the offsets.
    """

    def __init__(self, services: JobServices, spec: TaskJobSpec, on_end: Callable[[EosfwError | None], None]) -> None:
        self._services, self._spec, self._on_end = services, spec, on_end
        self._group = f"eosfw-{next(_NUMBERS)}"
        self._cancelled = False
        self._running = False

    @property
    def slots(self) -> int:
        """How many tasks it keeps busy."""
        return len(self._spec.tasks) if self._running else 0

    def start(self) -> None:
        """Run it on a thread of its own; there is room for it."""
        self._running = True
        self._services.runtime.spawn(self._group, self._run)

    def _run(self) -> None:
        error: EosfwError | None = None
        try:
            self._run_until_done()
        except EosfwError as why:
            error = None if self._cancelled else why
        finally:
            self._running = False
        self._on_end(error)

    def _run_until_done(self) -> None:
        failures, now = 0, self._services.runtime.now
        while not self._cancelled:
            begun = now()
            try:
                self._submit()
            except Exception as why:  # noqa: BLE001 (whatever Spark says; in the end it fails the tasks)
                failures = 1 if now() - begun > HEALTHY else failures + 1
                self._recover(failures, root_cause(why))
            else:
                return

    def _submit(self) -> None:
        # Of this thread alone; interrupting has Spark end the Python processes, too.
        context, tasks = self._services.context, list(self._spec.tasks)
        context.setJobGroup(self._group, f"eosfw: {self._spec.name}", interruptOnCancel=True)
        context.parallelize(tasks, len(tasks)).barrier().mapPartitions(run_tasks).collect()

    def _recover(self, failures: int, cause: Cause) -> None:
        """Wait until the job can be submitted again; StepFailedError if it has failed too often."""
        if self._cancelled:
            return
        if failures >= MOST_FAILURES:
            error = StepFailedError(f"Spark gave up on {self._spec.name}: {failures} times in a row {cause.sentence}")
            error.exit_code = cause.exit_code
            raise error
        logger.warning("the tasks of %s start again: %s", self._spec.name, cause.sentence)
        self._running = False
        self._services.runtime.sleep(_PAUSE)
        self._services.await_slots(self._spec)
        self._running = True

    def cancel(self) -> None:
        self._cancelled = True
        if self._running:
            with suppress(Exception):  # Spark may have stopped meanwhile: then nothing runs
                self._services.context.cancelJobGroup(self._group)


def run_tasks(texts: Iterable[str]) -> Iterator[None]:
    """Run, in a task of the job, the connector's task of this partition until it ends."""
    from pyspark import TaskContext

    from eosfw.runtime import run_hosted_task

    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this runs in tasks of Spark alone")
    for text in texts:
        # Counted by the driver for all of its tasks: a later attempt has a greater number.
        run_hosted_task(text, context.taskAttemptId(), plugins=plugins())
    yield from ()
