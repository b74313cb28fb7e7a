"""One task in the process that a host started for it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar, Final

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.config.worker import WORKER
from eosfw.errors import SupersededError, described
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Announcer, Metric, PluginMetricsRegistry
from eosfw.registry import Plugins, load_plugins
from eosfw.registry.config_transformer import parse_worker, transform_by
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.hosting.connection import ConnectionLostError, Message, TaskConnection
from eosfw.runtime.hosting.messages import HostedTaskSpec
from eosfw.runtime.hosting.worker_client import METRICS_INTERVAL, REPORT_INTERVAL, WorkerClient
from eosfw.runtime.status import Notice, TaskState, TaskStatus
from eosfw.runtime.storage.config_topic import open_config_topic
from eosfw.runtime.storage.global_offset_backing_store import COPY_TIMEOUT, GlobalOffsetBackingStore
from eosfw.runtime.tasks.plan import AssignedTask
from eosfw.runtime.tasks.planner import ClusterFacts, TaskPlanner
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.runtime.tasks.start_queue import StartQueue
from eosfw.runtime.tasks.task import WorkerTask
from eosfw.state.steps import StepEvent

logger = logging.getLogger(__name__)

_LOGGED: Final = logging.WARNING
"""From this level on, lines of the log are shown by the worker, too."""


def run_hosted_task(text: str, attempt: int, *, runtime: Runtime | None = None, plugins: Plugins | None = None) -> None:
    """Run the task that a text of a `TaskJobSpec` describes, until it ends; for the processes of a `TaskHost`.

    It raises if the worker is gone: then another process may be needed, which the host decides.
    """
    spec = HostedTaskSpec.from_json(text)
    runtime = runtime or ThreadRuntime()
    connection = TaskConnection.connected(spec.address, bytes.fromhex(spec.key), runtime)
    try:
        welcome = _introduce(connection, spec, attempt, runtime)
        if welcome is not None:
            _Process(spec, WorkerClient(connection, runtime), runtime).run(plugins, paused=welcome["paused"])
    finally:
        connection.close()


def _introduce(connection: TaskConnection, spec: HostedTaskSpec, attempt: int, runtime: Runtime) -> Message | None:
    """Say who comes; None if the worker wants no process for the task any more."""
    who = {"connector": spec.connector, "task": spec.task, "generation": spec.generation, "attempt": attempt}
    connection.send({**who, "host": socket.gethostname(), "pid": os.getpid(), "now": runtime.now()})
    answer = connection.receive()
    if answer is None:
        raise ConnectionLostError("the connection to the worker is lost")
    welcome: Message | None = answer.get("welcome")
    return welcome


class _Process:
    """The task, with the threads that connect it to its worker."""

    def __init__(self, spec: HostedTaskSpec, client: WorkerClient, runtime: Runtime) -> None:
        self._spec, self._client, self._runtime = spec, client, runtime
        self._task: WorkerTask | None = None
        self._done = runtime.event()
        self._graceful_timeout = 0.0
        self._metrics = PluginMetricsRegistry(runtime)

    def run(self, plugins: Plugins | None, *, paused: bool) -> None:
        """Run the task and report how it ended; ConnectionLostError if nobody was there to hear that."""
        status = TaskStatus(self._spec.id, self._spec.generation, TaskState.UNASSIGNED)
        try:
            with _logs_to(self._client), _standing_in(self._spec.folder), ExitStack() as opened:
                status = self._run_task(plugins or load_plugins(), opened, paused=paused)
        except Exception as error:  # before the task began, or after it had ended
            logger.debug("task %s could not run", self._spec.id, exc_info=True)
            superseded = isinstance(error, SupersededError)
            state = TaskState.UNASSIGNED if superseded else TaskState.FAILED
            status = TaskStatus(
                status.id, status.generation, state, error=error, trace=described(error), superseded=superseded
            )
        self._client.report(status, self._measured(), ended=True)

    def _run_task(self, plugins: Plugins, opened: ExitStack, *, paused: bool) -> TaskStatus:
        services = self._services(plugins, opened)
        opened.enter_context(services.planner.transformer.hidden_secrets())
        task = self._task = WorkerTask(self._assigned(services), services, paused=paused)
        self._runtime.spawn("eosfw-worker-listener", lambda: self._client.listen(self._do))
        reporter = self._runtime.spawn("eosfw-worker-reporter", lambda: self._report(task))
        opened.callback(reporter.join)
        opened.callback(self._done.set)
        self._runtime.spawn("eosfw-worker-watch", lambda: self._end_without_worker(task))
        task.run()
        return task.status()

    def _services(self, plugins: Plugins, opened: ExitStack) -> WorkerServices:
        spec, runtime, client = self._spec, self._runtime, self._client
        config = parse_worker(plugins, WORKER, spec.properties, "the worker's properties")
        self._graceful_timeout = float(config["task.shutdown.graceful.timeout.ms"]) / 1000
        cluster = transform_by(plugins, spec.properties, spec.cluster).values
        backend = plugins.backend(spec.backend).connect(cluster, runtime)
        opened.callback(backend.close)
        facts = ClusterFacts(backend.capabilities, backend.problems, spec.max_transaction_timeout)
        offsets = GlobalOffsetBackingStore(config, backend, runtime)
        opened.callback(lambda: offsets.close(COPY_TIMEOUT))
        planner = TaskPlanner(config, plugins, facts)
        opened.callback(planner.transformer.close)
        topic = client.config_topic = open_config_topic(config, backend, runtime)
        opened.callback(topic.close)
        return WorkerServices(
            group_id=config["group.id"],
            worker=spec.worker,
            backend=backend,
            config_topic=topic,
            worker_offsets=offsets,
            planner=planner,
            leader=client,
            member=client,
            # The worker's own observers would hear of it as well, if it told them.
            announce=Announcer((_Steps(client), *plugins.observers())),
            runtime=runtime,
            starts=StartQueue(runtime),
            plugin_metrics=self._metrics,
            listener=_Topics(client),
        )

    def _assigned(self, services: WorkerServices) -> AssignedTask:
        """The task, in its generation by the count of this process.

        Generations are counted, not stored: after a compaction a process that comes later counts fewer. The newest one
        is the worker's if the worker wrote it; that nothing newer has come since, the worker says when it fences.
        """
        spec, topic = self._spec, services.config_topic
        topic.read_to_end()
        entry = topic.entry(spec.connector)
        if entry.generation is None or entry.committed_by != spec.worker:
            raise SupersededError(
                f"task {spec.id} of generation {spec.generation} was fenced by generation {entry.generation}, worker "
                f"{entry.committed_by or 'of another kind'}"
            )
        (task,) = services.planner.assigned_tasks(Assignment(spec.connector, entry.generation, [spec.task]))
        return task

    def _do(self, message: Message) -> None:
        task = self._task
        if task is None:
            return
        what = message["do"]
        if what == "kill":
            # On a thread of its own: a client whose cluster is gone may take its time.
            self._runtime.spawn("eosfw-kill", lambda: task.kill(float(message["within"])))
        elif what == "cancel":
            self._runtime.spawn("eosfw-cancel", task.cancel)
        else:
            {"stop": task.trigger_stop, "pause": task.pause, "resume": task.resume}[what]()

    def _report(self, task: WorkerTask) -> None:
        look_at = 0.0
        try:
            while not self._done.wait(REPORT_INTERVAL):
                metrics = None
                if (now := self._runtime.now()) >= look_at:
                    metrics, look_at = self._measured(), now + METRICS_INTERVAL
                self._client.report(task.status(), metrics)
        except ConnectionLostError:
            return

    def _measured(self) -> Sequence[Metric]:
        """What the plugins of the task measure; behind its end the last values."""
        return self._metrics.metrics({self._spec.id})

    def _end_without_worker(self, task: WorkerTask) -> None:
        """Stop the task when its worker is gone: it commits what was polled, and leaves the rest to the next run."""
        self._client.lost.wait()
        task.trigger_stop()
        if not self._done.wait(self._graceful_timeout):
            task.cancel()


class _Steps:
    """The observer that tells the worker."""

    name: ClassVar[str] = "hosting"

    def __init__(self, client: WorkerClient) -> None:
        self._client = client

    def observe(self, event: StepEvent) -> None:
        self._client.announce(event)


class _Topics:
    """The `TaskListener` that tells the worker each topic once; statuses it reports itself."""

    def __init__(self, client: WorkerClient) -> None:
        self._client = client
        self._known: set[str] = set()

    def on_status(self, status: TaskStatus) -> None:
        """Do nothing."""

    def on_topic(self, task: ConnectorTaskId, topic: str) -> None:
        if topic not in self._known:
            self._known.add(topic)
            self._client.on_topic(topic)

    def on_notice(self, task: ConnectorTaskId, notice: Notice) -> None:
        """Do nothing: the statuses have it."""


class WorkerLogHandler(logging.Handler):
    """Has the worker show what is logged here."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(_LOGGED)
        self._client = client

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._client.log(record)
        except Exception:  # noqa: BLE001 - a connector's arguments that do not fit its text must not fail its task
            self.handleError(record)


@contextmanager
def _logs_to(client: WorkerClient) -> Iterator[None]:
    """Have warnings of the framework and of the connector shown where the user looks."""
    handler, root = WorkerLogHandler(client), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


@contextmanager
def _standing_in(folder: str) -> Iterator[None]:
    """Stand where the worker stands, if this machine has that folder: relative paths of connectors start there."""
    before = os.getcwd()
    if os.path.isdir(folder):
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
