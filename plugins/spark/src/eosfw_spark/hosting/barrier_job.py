"""The Spark job of one generation of a connector: a barrier stage with a task for each of its tasks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, StepFailedError
from eosfw.protocols import TaskJobSpec
from eosfw_spark.hosting.executor_task import run_tasks
from eosfw_spark.root_cause import root_cause

if TYPE_CHECKING:
    from pyspark import SparkContext

_NUMBERS: Final = itertools.count(1)


class BarrierJob:
    """The `TaskJob` of Spark; `cancel` is for any thread.

    In a barrier stage all tasks start together or none does, and when one dies Spark starts all of them again. Nothing
    is repeated or lost: each initialises its transactional id, which fences whoever had it, and reads the offsets.
    """

    def __init__(self, context: SparkContext, spec: TaskJobSpec, on_end: Callable[[EosfwError | None], None]) -> None:
        self._context, self._spec, self._on_end = context, spec, on_end
        self._group = f"eosfw-{next(_NUMBERS)}"
        self._cancelled = False
        self.ended = False

    @property
    def slots(self) -> int:
        """How many tasks it keeps busy."""
        return 0 if self.ended else len(self._spec.tasks)

    def start(self, runtime: Runtime) -> None:
        """Run it on a thread of its own."""
        runtime.spawn(self._group, self._run)

    def _run(self) -> None:
        error: EosfwError | None = None
        try:
            # Of this thread alone; interrupting has Spark end the Python processes, too.
            self._context.setJobGroup(self._group, f"eosfw: {self._spec.name}", interruptOnCancel=True)
            tasks = list(self._spec.tasks)
            self._context.parallelize(tasks, len(tasks)).barrier().mapPartitions(run_tasks).collect()
        except Exception as why:  # noqa: BLE001 (whatever Spark says; the worker fails the tasks with it)
            error = None if self._cancelled else _gave_up(self._spec.name, why)
        self.ended = True
        self._on_end(error)

    def cancel(self) -> None:
        self._cancelled = True
        if not self.ended:
            self._context.cancelJobGroup(self._group)


def _gave_up(name: str, why: Exception) -> EosfwError:
    cause = root_cause(why)
    error = StepFailedError(f"Spark gave up on {name}: {cause.sentence}")
    error.exit_code = cause.exit_code
    return error
