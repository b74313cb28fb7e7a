"""A worker of a test, with gates at which its tasks can be frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import pytest

from eosfw.concurrency import Event, Runtime
from eosfw.config import LOCAL_FILE_POLICY
from eosfw.connectors import SourceConnector
from eosfw.errors import ConfigError, Problem, described
from eosfw.observe import Gates, History
from eosfw.pipeline import ClusterChoice, LocalRun, Pipeline
from eosfw.protocols import LocalCluster, Observer
from eosfw.runtime import TaskState, TaskStatus, Worker, connector_config
from pytest_eos.environment.diagnostics.stall_report import stall_report
from pytest_eos.runs.groups.extra_plugins import ExtraPlugins
from pytest_eos.runs.groups.herders import Exchange

POLL_INTERVAL = 0.005
"""Seconds between two checks of a condition."""
VIRTUAL_POLL_INTERVAL = 1.0
"""The longest interval in virtual time, where waiting costs nothing but every check does."""
_STOP = 10.0
_WORKER = {
    "exactly.once.source.support": "enabled",
    "offset.storage.partitions": "1",
    "task.shutdown.graceful.timeout.ms": "20",
    **LOCAL_FILE_POLICY,
}


class Waiter:
    """Waits until a condition is true, at most for `patience` seconds; the interval grows up to `longest` seconds."""

    def __init__(self, runtime: Runtime, patience: float, *, longest: float = POLL_INTERVAL) -> None:
        self.runtime, self.patience, self._longest = runtime, patience, longest

    def until(
        self,
        happened: Callable[[], bool],
        what: str,
        state: Callable[[], str] = str,
        *,
        sooner: Event | None = None,
    ) -> None:
        """Wait; on a timeout fail the test with `what` and `state`. The event `sooner` ends an interval early."""
        deadline, interval = self.runtime.now() + self.patience, POLL_INTERVAL
        while not happened():
            if self.runtime.now() > deadline:
                duration = f"{self.patience:g} {'virtual seconds' if self.virtual else 's'}"
                pytest.fail(f"waited {duration} in vain for {what}: {state() or 'it did not happen'}", pytrace=False)
            if sooner is None or sooner.is_set():
                self.runtime.sleep(interval)
            else:
                sooner.wait(interval)
            interval = min(self._longest, interval * 1.5)

    @property
    def virtual(self) -> bool:
        """Whether it waits in virtual time."""
        return self._longest != POLL_INTERVAL


class WorkerGroup:
    """One worker; a second one with the same `name` takes the group over from the first."""

    def __init__(
        self,
        name: str,
        cluster: ClusterChoice,
        plugins: ExtraPlugins,
        waiter: Waiter,
        *,
        observers: Sequence[Observer] = (),
        properties: Mapping[str, str] | None = None,
        served: LocalCluster | None = None,
    ) -> None:
        self.name, self.properties = name, properties or {}
        self._waiter, self._plugins = waiter, plugins
        self.gates = Gates(waiter.runtime)
        self.connectors: dict[str, Mapping[str, str]] = {}
        pipeline = Pipeline(
            Path("pytest-eos"), cluster, {**_WORKER, "group.id": name, **self.properties}, self.connectors
        )
        # Gates come last: they block, and the other observers must have recorded the event before.
        self.local = LocalRun(pipeline, plugins, waiter.runtime, observers=(*observers, self.gates), served=served)
        if self.local.config["task.isolation"] != "thread":
            in_test = "in a test, tasks share the process of the test, so remove it"
            raise ConfigError(Problem("worker", f"task.isolation=process is for `eosfw run`: {in_test}"))
        self._started = False
        self.stopped = False
        self.kills = 0
        """How often a worker of the group was killed."""

    @property
    def worker(self) -> Worker:
        """The worker of the framework."""
        return self.local.worker

    @property
    def history(self) -> History:
        """The history of all tasks."""
        return self.local.history

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """The requests between the workers: a single one has none."""
        return ()

    def put(self, name: str, properties: Mapping[str, object]) -> int:
        """Put a connector, which replaces the tasks of its previous generation; return the new generation."""
        if self.stopped:
            raise pytest.UsageError(
                f"the worker stopped with the last run, so it starts no task of connector {name}: use another worker, "
                f"or put each connector to a run of eos.create_run, and stop the group at the end"
            )
        texts = as_texts(properties)
        self._start()
        self.connectors[name] = texts
        return self.worker.put_connector(name, texts)

    def tasks(self) -> Sequence[TaskStatus]:
        """The tasks of the newest generations."""
        return self.worker.status().tasks

    def failures(self) -> Sequence[TaskStatus]:
        """Those of them that failed."""
        return [task for task in self.tasks() if task.state is TaskState.FAILED]

    def connector_failures(self) -> Mapping[str, BaseException]:
        """The errors of the connectors that failed themselves, not only a task of theirs."""
        return self.worker.status().connector_failures

    def drained(self, idle: float) -> bool:
        """Whether every source is at its end, or was idle for so many seconds."""
        return self.worker.drained(idle)

    def task_count(self, connector: SourceConnector, name: str, properties: Mapping[str, str]) -> int:
        """The number of tasks that a connector will have."""
        config = connector_config(connector, name, properties)
        return len(list(connector.task_configs(config, config["tasks.max"])))

    def until(self, happened: Callable[[], bool], what: str, *, sooner: Event | None = None) -> None:
        """Wait until a condition is true; fail as soon as a task of the newest generation has failed."""

        def checked() -> bool:
            for task in self.failures():
                if isinstance(task.error, KeyboardInterrupt):  # in virtual time Ctrl-C may interrupt any task
                    raise task.error
                if isinstance(task.error, pytest.fail.Exception):  # the watchdog interrupted its call
                    pytest.fail(str(task.error), pytrace=False)
                why = "" if task.error is None else f": {described(task.error)}"
                pytest.fail(f"task {task.id} failed{why}, while {what} was waited for\n{task.trace}", pytrace=False)
            for name, error in self.connector_failures().items():
                why = f"connector {name} failed: {described(error)}, while {what} was waited for"
                pytest.fail(why, pytrace=False)
            return happened()

        self._waiter.until(checked, what, self.state, sooner=sooner)

    def until_drained(self, idle: float = 5.0) -> None:
        """Wait until every source is at its end, or was idle for so long."""
        self.until(lambda: self.drained(idle), "a drained run")

    def until_records(self, count: int) -> None:
        """Wait until that many records are committed, or the sources are at their end."""
        self.until(lambda: self.history.records >= count or self.drained(5.0), f"{count} committed records")

    def state(self) -> str:
        """Why nothing happens: the most likely cause, then the state of each task."""
        return stall_report(self.tasks(), self._plugins.calls, self.connectors, virtual=self._waiter.virtual)

    def stop(self) -> None:
        """Stop cleanly: polled records are committed."""
        self.stopped = True
        if self._started:
            self.gates.close()
            self.worker.stop(_STOP)

    def kill(self) -> None:
        """Close every client at once, so that open transactions abort."""
        self.stopped = True
        self.kills += 1
        if self._started:
            self.worker.kill()

    def _start(self) -> None:
        if not self._started:
            self.worker.start()
            self._started = True

    def __enter__(self) -> Self:
        self.local.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.gates.close()
        self.local.__exit__(None, None, None)


def as_texts(properties: Mapping[str, object]) -> dict[str, str]:
    """Properties as texts, as Kafka writes them."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in properties.items()}
