"""The Python processes of a simulated Spark, and what code that runs in them finds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark import TaskContext

from eosfw.observe import Announcer
from eosfw_spark import micro_batch
from eosfw_spark.python_process import PROCESS
from eosfw_spark.sink import atomic_write, parallel_write
from eosfw_spark.sink.kept_clients import KeptClients
from pytest_eos.virtual import VirtualProcess


@dataclass(slots=True)
class Python:
    """One Python process, which runs one task, or one call of the driver, at a time."""

    runtime: VirtualProcess
    announcer: Announcer
    kept: dict[str, Any] = field(default_factory=dict)
    """The clients that it keeps."""

    def run(self, name: str, target: Callable[[], None], task: Task | None = None) -> None:
        """Run something in this process; returns at once."""

        def run() -> None:
            _PYTHON.set(self)
            _TASK.set(task)
            target()

        self.runtime.spawn(name, run)


@dataclass(frozen=True, slots=True)
class Task:
    """What Spark tells of a task (PySpark's `TaskContext`)."""

    partition: int
    attempt: int
    properties: Mapping[str, str]

    def partitionId(self) -> int:  # noqa: N802 - Spark's name
        return self.partition

    def taskAttemptId(self) -> int:  # noqa: N802 - Spark's name
        return self.attempt

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802 - Spark's name
        return self.properties.get(key)


_PYTHON: ContextVar[Python] = ContextVar("python")
_TASK: ContextVar[Task | None] = ContextVar("task")


class _KeptInEach:
    """The kept clients of whichever process asks."""

    def __init__(self, name: str, shipped: KeptClients[Any]) -> None:
        self._name, self._make = name, shipped._make

    def __getattr__(self, name: str) -> Any:
        return getattr(_PYTHON.get().kept.setdefault(self._name, KeptClients(self._make)), name)


@contextmanager
def simulated_processes() -> Iterator[None]:
    """Within it, what belongs to a Python process of Spark is that of the simulated process that asks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PROCESS, "runtime", lambda: _PYTHON.get().runtime)
        patch.setattr(TaskContext, "get", staticmethod(_TASK.get))
        patch.setattr(micro_batch, "_announcer", lambda: _PYTHON.get().announcer)
        patch.setattr(atomic_write, "COMMITTERS", _KeptInEach("committers", atomic_write.COMMITTERS))
        patch.setattr(parallel_write, "WRITERS", _KeptInEach("writers", parallel_write.WRITERS))
        yield
