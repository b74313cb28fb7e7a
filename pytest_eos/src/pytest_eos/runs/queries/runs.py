"""Run a streaming query in a driver of its own, under the zombie that a test asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_eos.environment.config.clocks import needs_real_clock
from pytest_eos.environment.config.markers import DRIVER, KILL, ZombieSpec
from pytest_eos.environment.config.session_statistics import give_up
from pytest_eos.environment.processes.os_processes import PROC
from pytest_eos.runs.groups.worker_harness import WorkerHarness
from pytest_eos.runs.queries.process import QueryProcess
from pytest_eos.runs.queries.spark import problem

STEP_LOCK = ".step.lock"
"""The lock file of a pipeline's checkpoint."""


class QueryRun:
    """A streaming query that ran until its source had no more, in one driver after another on one checkpoint.

    `checkpoint` is its folder; `drivers` are the processes that ran it, oldest first: two after a zombie driver.
    """

    def __init__(self, query: str, checkpoint: Path, drivers: list[QueryProcess]) -> None:
        self.query, self.checkpoint, self.drivers = query, checkpoint, drivers

    def __str__(self) -> str:
        return f"query {self.query}"


class QueryRuns:
    """The drivers of one test."""

    def __init__(self, eos: WorkerHarness) -> None:
        self._eos = eos
        self.drivers: list[QueryProcess] = []

    def run(
        self, query: str, options: Mapping[str, object], checkpoint: Path | None, zombie: ZombieSpec | None
    ) -> QueryRun:
        """Run the query to its end, whatever becomes of the zombie; fail the test if the query fails."""
        self._require_processes()
        if not all(query.partition(":")):
            raise pytest.UsageError(f"the query {query!r} names no function: write 'module:function'")
        where = checkpoint or self._eos.settings.folder / f"checkpoint-{len(self.drivers) + 1}"
        first = self.start(query, options, where, zombie)
        if zombie is None:
            drivers = [first]
        elif zombie.who == DRIVER:
            drivers = [first, self._replace_driver(first, query, options, where, zombie)]
        else:
            drivers = [first]
            self._replace_executor(first, zombie)
        error = drivers[-1].await_ended()
        if error is not None:
            pytest.fail(f"query {query} failed: {error}", pytrace=False)
        for driver in drivers:
            driver.close()
        return QueryRun(query, where, drivers)

    def start(
        self, query: str, options: Mapping[str, object], checkpoint: Path, zombie: ZombieSpec | None
    ) -> QueryProcess:
        """Start a driver, which is ended with the test."""
        client = {f"kafka.{name}": text for name, text in self._eos.cluster.client.items()}
        given = {"backend": self._eos.backend_name, **client, **{name: str(value) for name, value in options.items()}}
        made = QueryProcess.start(self._eos, query, given, checkpoint, zombie)
        self.drivers.append(made)
        return made

    def _replace_driver(
        self, first: QueryProcess, query: str, options: Mapping[str, object], where: Path, zombie: ZombieSpec
    ) -> QueryProcess:
        """Let a second driver take the checkpoint while the first one stands still, or after it died."""
        first.await_frozen()
        if zombie.how == KILL:
            first.kill()
        # A lock on the folder holds on one machine alone: the successor is to stand for a driver on another one.
        (where / STEP_LOCK).unlink(missing_ok=True)
        second = self.start(query, options, where, None)
        second.await_ended()
        if zombie.how != KILL:
            first.wake().await_ended()
        return second

    @staticmethod
    def _replace_executor(driver: QueryProcess, zombie: ZombieSpec) -> None:
        """Let the other executor finish what the frozen one, or the dead one, has begun."""
        driver.await_frozen()
        if zombie.how == KILL:
            driver.kill().await_ended()
        else:
            driver.await_ended()
            # The end of its driver is the end of the executors, and a zombie that had no turn shows nothing.
            driver.wake().await_gone_on()

    def _require_processes(self) -> None:
        if self._eos.cluster.virtual:
            raise needs_real_clock("a driver of Spark in processes of its own")
        why = problem()
        if why is None and not (PROC / "self" / "environ").exists():
            why = f"drivers of Spark are frozen by what {PROC} says of processes, which this system lacks"
        if why is not None:
            give_up(self._eos.settings.required, self._eos.statistics, "spark", why)

    def complaints(self) -> list[str]:
        """A message for each zombie that was not frozen, then woken or killed."""
        return [driver.complaint() for driver in self.drivers if not driver.rose]

    def close(self) -> None:
        """End all processes and count the zombies."""
        for driver in self.drivers:
            driver.close()
            driver.count(self._eos.statistics)
