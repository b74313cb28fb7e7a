"""The cluster, client, worker and history of one run in this process."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing
from typing import Self

from eosfw.concurrency import Runtime
from eosfw.config.parts import ISOLATION_READER, PartChoice, chosen
from eosfw.config.worker import TASK_ISOLATION
from eosfw.ids import TopicPartition
from eosfw.observe import Announcer, History
from eosfw.pipeline.definition.connectivity import require_reachable
from eosfw.pipeline.definition.model import Pipeline
from eosfw.pipeline.definition.validation import backend_of, worker_config
from eosfw.pipeline.local.console import RunConsole
from eosfw.pipeline.local.hosting import HostChoice, launcher_on, task_host
from eosfw.protocols import IsolationReader, LocalCluster, Observer, OpenTransaction, TaskHostSession
from eosfw.registry import Plugins, parts
from eosfw.registry.config_transformer import transform_by
from eosfw.runtime import Worker
from eosfw.runtime.hosting.subprocess_host import SubprocessHostSession
from eosfw.runtime.hosting.thread_launcher import LauncherFactory, ThreadLauncher


class LocalRun:
    """What one run of a pipeline uses in this process; a context manager that closes all of it.

    `backend` is connected to the cluster that the pipeline names, or else to an embedded one that this run starts
    (`cluster`). A cluster that the caller serves in this process is given as `served`. `worker` is made, not started.
    A `console` shows it until the run is closed.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        plugins: Plugins,
        runtime: Runtime,
        *,
        observers: Iterable[Observer] = (),
        served: LocalCluster | None = None,
        host: HostChoice | None = None,
        console: RunConsole | None = None,
    ) -> None:
        self.pipeline, self.plugins, self.runtime = pipeline, plugins, runtime
        self._host, self.console = host, console
        self._served = served
        self.history = History(runtime)
        self.config = worker_config(pipeline, plugins)
        shown = () if console is None else (console,)
        given = tuple(observers)
        # The history comes first: an observer behind it may block.
        self._announce = Announcer((self.history, *shown, *plugins.observers(), *given))
        self._announce_hosted = Announcer((self.history, *shown, *given))
        """For steps of tasks that run elsewhere, where the plugins are as well."""
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._start(undo)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def put_connectors(self) -> None:
        """Put every connector of the pipeline into the worker."""
        for name, properties in self.pipeline.connectors.items():
            self.worker.put_connector(name, properties)

    @property
    def kept(self) -> bool:
        """Whether topics outlive the run: those of a cluster that runs elsewhere, or that keeps a data directory."""
        return self.cluster is None or "log.dirs" in self.pipeline.broker

    @property
    def reader_choice(self) -> PartChoice:
        """Which isolation reader the worker's properties choose."""
        return chosen(ISOLATION_READER, self.config)

    def reader(self, *, headers: bool = False) -> IsolationReader:
        """The chosen isolation reader over this run's backend; the caller closes it."""
        return parts.isolation_reader(self.plugins, self.reader_choice, self.backend, self.runtime, headers=headers)

    def open_transactions(self, partitions: Iterable[TopicPartition]) -> list[OpenTransaction]:
        """The open transactions in these partitions; none where neither cluster nor client can list them."""
        wanted = set(partitions)
        if self.cluster is not None:
            return [one for one in self.cluster.open_transactions() if one.partition in wanted]
        if not self.backend.capabilities.describe_transactions:
            return []
        with closing(self.backend.admin()) as admin:
            return list(admin.open_transactions(wanted))

    def _start(self, undo: ExitStack) -> None:
        kind = backend_of(self.pipeline, self.plugins)
        written = self.pipeline.cluster.properties
        self.client_properties = dict(transform_by(self.plugins, self.pipeline.worker, written).values)
        self.cluster = self._served
        if not self.pipeline.cluster.external:
            self.cluster = self._serve()
            undo.callback(self.cluster.close)
            self.client_properties["bootstrap.servers"] = self.cluster.bootstrap_servers
        elif self._served is None:
            require_reachable(self.client_properties, self.runtime)
        self.backend_name = kind.name
        self.backend = kind.connect(self.client_properties, self.runtime)
        undo.callback(self.backend.close)
        session = self._host_session()
        launcher = ThreadLauncher if session is None else self._hosted(session, undo)
        self.worker = Worker(
            self.config,
            self.backend,
            self.plugins,
            self._announce,
            self.runtime,
            launcher=launcher if self.console is None else self.console.listening(launcher),
            cancels_tasks=session is not None,
        )
        # Registered last, so killed first: tasks end while their client and the embedded cluster are still there.
        undo.callback(self.worker.kill)
        if self.console is not None:
            # Closed before all else, so that no request meets a worker without its clients.
            undo.callback(self.console.close)
            self.console.serve(self.worker, self.config, self.plugins, self.pipeline)

    def _host_session(self) -> TaskHostSession | None:
        """What starts the processes of tasks; None if they run in this one."""
        # An engine comes first: whatever the property says, each of its tasks has a process of its own.
        if self._host is not None:
            return task_host(self.plugins, self._host).start_host(self._host.settings)
        if self.config[TASK_ISOLATION] == "process":
            return SubprocessHostSession(self.runtime, self.config["task.shutdown.graceful.timeout.ms"] / 1000)
        return None

    def _hosted(self, session: TaskHostSession, undo: ExitStack) -> LauncherFactory:
        undo.callback(session.close)
        # As they were written: each process looks the values of references up itself.
        address = {"bootstrap.servers": self.client_properties["bootstrap.servers"]}
        cluster = (self.backend_name, {**address, **self.pipeline.cluster.properties})
        per_task = self._host is None
        return launcher_on(session, self.pipeline, self.plugins, cluster, self._announce_hosted, job_per_task=per_task)

    def _serve(self) -> LocalCluster:
        settings = dict(self.pipeline.broker)
        kind = self.plugins.cluster(settings.pop("name", None))
        return kind.start(settings, self.runtime)
