"""Host tasks on threads that play processes, each with plugins and clients of its own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from eosfw.concurrency import ThreadRuntime
from eosfw.connectors import SourceConnector
from eosfw.errors import EosfwError
from eosfw.observe import History
from eosfw.protocols import TaskJobSpec
from eosfw.runtime import run_hosted_task
from eosfw.runtime.hosting.connection import ConnectionLostError
from eosfw.runtime.hosting.process_launcher import HostedProcesses, HostedTaskLauncher
from eosfw.runtime.tasks.services import WorkerServices

from .counting import CountingConnector
from .fake_cluster import FakeBackend, FakeCluster
from .worker_harness import HarnessPlugins, WorkerHarness


class ProcessPlugins(HarnessPlugins):
    """The plugins of one process."""

    def __init__(self, connector: SourceConnector, cluster: FakeCluster) -> None:
        super().__init__(connector)
        self._cluster = cluster

    def backend(self, name: str) -> Any:
        cluster = self._cluster

        class Connecting(FakeBackend):
            @classmethod
            def connect(cls, properties: Mapping[str, str], runtime: Any) -> FakeBackend:
                return cls(cluster)

        return Connecting

    def observers(self) -> list[Any]:
        return []


class ThreadHost:
    """A `TaskHostSession` whose processes are threads; a test replaces them when it likes."""

    address = bind_address = "127.0.0.1"

    def __init__(self, connector: SourceConnector, cluster: FakeCluster) -> None:
        self._connector, self._cluster = connector, cluster
        self._attempts = itertools.count()
        self.jobs: list[TaskJobSpec] = []
        self.cancelled: list[str] = []
        self.lost: list[EosfwError] = []
        self.starts = True
        """Whether processes come at once."""
        self.on_end: list[Callable[[EosfwError | None], None]] = []

    def submit(self, job: TaskJobSpec, on_end: Callable[[EosfwError | None], None]) -> Any:
        self.jobs.append(job)
        self.on_end.append(on_end)
        for number in range(len(job.tasks) if self.starts else 0):
            self.start(number)
        return _Job(partial(self.cancelled.append, job.name))

    def start(self, task: int) -> None:
        """Start a process for a task of the newest job, beside those that it has."""
        number, text = next(self._attempts), self.jobs[-1].tasks[task]
        threading.Thread(target=self._run, args=(text, number), name=f"process-{number}", daemon=True).start()

    def _run(self, text: str, attempt: int) -> None:
        try:
            run_hosted_task(text, attempt, plugins=ProcessPlugins(self._connector, self._cluster))  # type: ignore[arg-type]
        except ConnectionLostError as error:
            self.lost.append(error)

    def close(self) -> None:
        pass


class _Job:
    def __init__(self, cancel: Callable[[], None]) -> None:
        self.cancel = cancel


class HostedHarness(WorkerHarness):
    """A worker whose tasks a `ThreadHost` runs."""

    idle = 30.0
    """Its sources know their ends. On a busy machine a report may come late, and until then no record was heard of."""

    def __init__(self, connector: SourceConnector | None = None, **worker: Any) -> None:
        cluster = FakeCluster()
        self.host = ThreadHost(connector or CountingConnector(), cluster)
        self.history = History(ThreadRuntime())
        super().__init__(connector, cluster, launcher=self._launcher, cancels_tasks=True, **worker)

    def _launcher(self, services: WorkerServices) -> HostedTaskLauncher:
        processes = HostedProcesses(
            session=self.host,
            backend="fake",
            cluster={"bootstrap.servers": "nowhere:1"},
            properties=self.properties,
            requires=lambda _: {},
            observe=self.history.observe,
        )
        return HostedTaskLauncher(services, processes)

    @property
    def hosted_steps(self) -> list[str]:
        """The steps that processes reported."""
        return [event.step.value for event in self.history.events()]
