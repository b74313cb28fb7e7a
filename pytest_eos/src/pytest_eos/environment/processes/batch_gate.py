"""The observer that freezes a process of Spark at a step of a micro-batch."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from eosfw.observe import StepEvent
from pytest_eos.environment.processes.gate_folder import GateFolder
from pytest_eos.environment.processes.os_processes import FOLDER_VARIABLE, java_above


class MicroBatchGate:
    """Writes down each step of the processes of one driver, and stops the process that reaches the gate."""

    name: ClassVar[str] = "eos-micro-batch-gate"

    def __init__(self) -> None:
        self._folder = GateFolder(Path(os.environ[FOLDER_VARIABLE]))
        self._armed = self._folder.armed()

    def observe(self, event: StepEvent) -> None:
        self._folder.keep(replace(event, detail={**event.detail, **_attempt(), "pid": os.getpid()}))
        if self._is_awaited(event) and self._folder.claim():
            self._stop()

    def _is_awaited(self, event: StepEvent) -> bool:
        gate = self._armed
        if gate is None or event.step.value != gate.step:
            return False
        if gate.executor and event.task is None:  # a step beside the driver
            return False
        if gate.task is not None and (event.task is None or event.task.task != gate.task):
            return False
        return self._folder.ordinal(event) == gate.nth

    def _stop(self) -> None:
        # A frozen executor is its JVM, too: only then it does not hear that its task was killed meanwhile.
        executor = java_above(os.getpid()) if self._armed and self._armed.executor else None
        above = [] if executor is None else [executor]
        for pid in above:
            os.kill(pid, signal.SIGSTOP)
        self._folder.reach([*above, os.getpid()])
        # To this thread, which stops at once; kill() might stop another one first, and this one continue.
        signal.raise_signal(signal.SIGSTOP)


def _attempt() -> dict[str, object]:
    """The number of this attempt of a task, in a process of Spark that runs one."""
    spark = sys.modules.get("pyspark")
    context = spark and spark.TaskContext.get()
    return {"attempt": context.attemptNumber()} if context else {}
