"""The tasks of a simulated Spark: attempts on executors that fail, are lost, are speculated, or outlive their stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle

from eosfw.concurrency import Runtime
from pytest_eos.simulation.workers import SimulatedWorker

from .python_processes import Python, Task

ATTEMPTS = 4
"""How often a task may fail (Spark's `spark.task.maxFailures`)."""
_HEARTBEAT = 5.0
"""Seconds after which a driver looks whether executors still live."""
_LOST = 20.0
"""Seconds after which an executor that stands still is given up (Spark's `spark.network.timeout`)."""
Rows = Iterator[pa.RecordBatch]


class JobFailedError(Exception):
    """A task failed too often."""


class Part(NamedTuple):
    """One partition of a stage: its rows, and what a task makes of them."""

    batches: Sequence[pa.RecordBatch]
    make: Callable[[Rows], Any]


@dataclass(slots=True)
class Attempt:
    """One attempt of a task; it is also the connection by which its Python process gets the rows."""

    number: int
    partition: int
    executor: Executor
    batches: Sequence[pa.RecordBatch]
    seconds: float
    """How long each batch of rows takes to come."""
    in_pipe: int
    """How many batches arrive even if the rows break off; one more than there are: their end arrives, too."""
    broken: bool = False
    """Whether the rows have broken off: what computes them has failed, or the attempt was cancelled."""
    over: bool = False
    """Whether the driver takes nothing from it any more."""

    def rows(self, runtime: Runtime) -> Rows:
        """The rows, which end early once they have broken off: Python cannot tell."""
        for at, each in enumerate(self.batches):
            runtime.sleep(self.seconds)
            if self.broken and at >= self.in_pipe:
                return
            yield each

    def peek(self, _: int) -> bytes:
        """What is behind the rows: nothing if they have broken off (as of a socket's file)."""
        return b"" if self.broken and self.in_pipe <= len(self.batches) else b"end"


@dataclass(slots=True)
class Executor:
    """An executor with one core, over all of its starts."""

    worker: SimulatedWorker
    launch: Callable[[Executor], None]
    """Starts its process anew."""
    python: Callable[[SimulatedWorker], Python]
    idle: list[Python] = field(default_factory=list)
    """Its Python processes that wait for a task."""
    attempts: list[Attempt] = field(default_factory=list)
    stood_since: float | None = None

    def restart(self) -> None:
        """Start a new process; the earlier one goes on, or stands still, unheard."""
        for attempt in self.attempts:
            attempt.over = True
        self.attempts, self.idle, self.stood_since = [], [], None
        self.launch(self)

    def takes_tasks(self) -> bool:
        """Whether it runs and has nothing to do."""
        process = self.worker.process
        return process is not None and not process.ended and not self.attempts

    def is_lost(self, now: float) -> bool:
        """Whether its process has ended, or stands still for too long."""
        process = self.worker.process
        if process is None or process.ended:
            return True
        if not process.stands:
            self.stood_since = None
            return False
        self.stood_since = self.stood_since or now
        return now - self.stood_since > _LOST


class Stage:
    """The tasks of one stage, until each has a result."""

    def __init__(
        self, runtime: Runtime, executors: Sequence[Executor], properties: dict[str, str], seconds: float
    ) -> None:
        self._runtime, self._executors = runtime, executors
        self._properties, self._seconds = properties, seconds
        self._outcomes: Any = runtime.queue()
        self._failures: dict[int, int] = {}
        self._running: list[Attempt] = []

    def run(self, parts: Sequence[Part], number: Callable[[], int]) -> list[Any]:
        """The result of each task: that of the attempt that ends first."""
        results: dict[int, Any] = {}
        waiting = list(range(len(parts)))
        try:
            while len(results) < len(parts):
                while waiting and (executor := next((e for e in self._executors if e.takes_tasks()), None)):
                    self._start(executor, waiting.pop(0), parts, number())
                waiting += [each for each in self._next(results) if each not in results]
        finally:
            for attempt in self._running:
                self._leave(attempt, broken=True)
        return [results[each] for each in range(len(parts))]

    def speculate(self, attempt: Attempt) -> None:
        """Run a second attempt beside this one."""
        self._outcomes.put((attempt, "speculate", None))

    def break_off(self, attempt: Attempt) -> None:
        """Let what computes the rows of an attempt fail."""
        attempt.broken, attempt.in_pipe = True, min(attempt.in_pipe, len(attempt.batches))
        self._outcomes.put((attempt, "failed", OSError("the rows cannot be computed")))

    def _next(self, results: dict[int, Any]) -> list[int]:
        """Wait for an outcome; return the partitions that need another attempt."""
        try:
            attempt, outcome, value = self._outcomes.get(_HEARTBEAT)
        except TimeoutError:
            return self._lost()
        if attempt.over:
            return []
        if outcome == "speculate":
            return [attempt.partition]
        self._leave(attempt, broken=attempt.broken)
        if outcome == "ended":
            results.setdefault(attempt.partition, cloudpickle.loads(value))
            for other in [each for each in self._running if each.partition == attempt.partition]:
                self._leave(other, broken=True)
            return []
        self._failures[attempt.partition] = self._failures.get(attempt.partition, 0) + 1
        if self._failures[attempt.partition] == ATTEMPTS:
            raise JobFailedError(f"task {attempt.partition} failed {ATTEMPTS} times: {value!r}") from value
        return [attempt.partition]

    def _lost(self) -> list[int]:
        """Give up executors that do not answer; return the partitions whose attempts they had."""
        gone = [each for each in self._executors if each.is_lost(self._runtime.now())]
        found = [attempt for attempt in self._running if attempt.executor in gone or attempt.over]
        for attempt in found:
            self._leave(attempt, broken=False)
        for executor in gone:
            if executor.worker.process is not None and not executor.worker.process.ended:
                executor.restart()
        return [attempt.partition for attempt in found]

    def _leave(self, attempt: Attempt, *, broken: bool) -> None:
        """Take nothing from an attempt any more; it may go on."""
        attempt.over, attempt.broken = True, broken
        if attempt in self._running:
            self._running.remove(attempt)
        if attempt in attempt.executor.attempts:
            attempt.executor.attempts.remove(attempt)

    def _start(self, executor: Executor, partition: int, parts: Sequence[Part], number: int) -> None:
        batches, make = parts[partition]
        # A shuffle brings rows in another order each time.
        first = number % len(batches) if batches else 0
        rows = [*batches[first:], *batches[:first]]
        attempt = Attempt(number, partition, executor, rows, self._seconds, number % (len(rows) + 2))
        self._running.append(attempt)
        executor.attempts.append(attempt)
        python = executor.idle.pop() if executor.idle else executor.python(executor.worker)
        sent = cloudpickle.dumps(make)

        def run() -> None:
            try:
                made = cloudpickle.dumps(main(attempt, cloudpickle.loads(sent), python.runtime))
            except Exception as why:  # noqa: BLE001 - Spark counts it, whatever it is
                self._outcomes.put((attempt, "failed", why))
                return
            if not attempt.over:
                executor.idle.append(python)
            self._outcomes.put((attempt, "ended", made))

        python.run(f"task {number}", run, Task(partition, number, self._properties))


def main(infile: Attempt, make: Callable[[Rows], Any], runtime: Runtime) -> Any:
    """What PySpark's worker does: functions find their connection by the names `main` and `infile`."""
    return make(infile.rows(runtime))
