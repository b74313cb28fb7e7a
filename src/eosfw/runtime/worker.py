"""The worker: connectors of a worker group in this process."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from eosfw.closeables import run_all
from eosfw.concurrency import FairLock, Runtime
from eosfw.config import Config, clients
from eosfw.config.parts import METRIC_REPORTERS
from eosfw.config.worker import task_isolation_problems
from eosfw.errors import ConfigError, EosfwError, RequestTimeoutError
from eosfw.observe import Metrics, PluginMetricsRegistry
from eosfw.protocols import Backend
from eosfw.registry import Plugins
from eosfw.runtime.checks.id_collision_check import refuse_shared_ids, refuse_shared_leaders_id
from eosfw.runtime.checks.log_redaction import LogRedaction
from eosfw.runtime.checks.preflight import worker_problems
from eosfw.runtime.connectors.offsets import OffsetServices
from eosfw.runtime.connectors.watcher import WatcherServices
from eosfw.runtime.connectors.watchers import ConnectorWatchers
from eosfw.runtime.fencing.connector_fencer import ConnectorFencer
from eosfw.runtime.fencing.leader import Leader, LeaderServices
from eosfw.runtime.group.live_workers import refuse_live_workers
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.group.sole_member import SoleMember
from eosfw.runtime.hosting.executor import TaskExecutor
from eosfw.runtime.hosting.thread_launcher import LauncherFactory, ThreadLauncher
from eosfw.runtime.metrics.reporting import metrics_reporting
from eosfw.runtime.metrics.worker_metrics import WorkerMetrics
from eosfw.runtime.status import TaskStatus, WorkerStatus
from eosfw.runtime.storage.config_topic import open_config_topic
from eosfw.runtime.storage.config_writer import leaders_writer
from eosfw.runtime.storage.connector_offset_backing_store import ensure_offsets_topic_of
from eosfw.runtime.storage.global_offset_backing_store import COPY_TIMEOUT, GlobalOffsetBackingStore
from eosfw.runtime.storage.internal_topics import ensure_internal_topics
from eosfw.runtime.tasks.config_reloads import ConfigReloads, ExpiredConfig
from eosfw.runtime.tasks.planner import ClusterFacts, TaskPlanner, ValidatedConnector
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.runtime.tasks.start_queue import StartQueue
from eosfw.state.steps import Announce
from eosfw.state.storage.config_records import RUN

logger = logging.getLogger(__name__)

_CONTROL_TIMEOUT = 90.0
"""Seconds that a control call waits for another one, as Connect's REST operations do (CFG-10)."""


class Worker:
    """A worker group of one process, by the rules of a distributed one (Kafka Connect's `Worker` with its herder).

    It puts leader, member and task runner together. Control calls (`start`, `put_connector`, `remove_connector`,
    `stop`) come from one thread at a time; `pause_connector`, `resume_connector`, `status`, `drained` and `kill` from
    any.
    """

    def __init__(
        self,
        config: Config,
        backend: Backend,
        plugins: Plugins,
        announce: Announce,
        runtime: Runtime,
        *,
        member: SoleMember | None = None,
        launcher: LauncherFactory = ThreadLauncher,
        cancels_tasks: bool = False,
    ) -> None:
        self._config, self._backend, self._plugins, self._runtime = config, backend, plugins, runtime
        self.name = f"{RUN}{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._topic = open_config_topic(config, backend, runtime)
        self._worker_offsets = GlobalOffsetBackingStore(config, backend, runtime)
        self._reloads = ConfigReloads(runtime)
        facts = ClusterFacts(backend.capabilities, backend.problems)
        self._planner = TaskPlanner(config, plugins, facts, self._reloads)
        self._log_redaction = LogRedaction(self._planner.transformer.redact)
        self._member = member or SoleMember(runtime)
        self._plugin_metrics, measured = PluginMetricsRegistry(runtime), Metrics(runtime)
        self._leader = self._made_leader(announce)
        services = self._made_services(announce)
        if config[METRIC_REPORTERS]:
            # Measured for reporters alone: a run has no REST interface, and each step costs a little.
            services = replace(services, announce=measured.before(announce), measure=measured.observe)
        self.services = services
        """What its tasks are given."""
        self._control = FairLock(runtime)
        """Held while a connector is put or removed: one that watches its source asks for that on its own thread."""
        self._changes = 0
        """Counts beginnings and ends of replacements of tasks that a connector has asked for."""
        self._watchers = self._made_watchers()
        self._launcher = launcher(services)
        self._executor = TaskExecutor(services, self._graceful_timeout, self._launcher, cancels=cancels_tasks)
        metrics = WorkerMetrics(measured, self._executor, self._plugin_metrics)
        self._reporting = metrics_reporting(config, plugins, backend, runtime, metrics.all)

    def _made_leader(self, announce: Announce) -> Leader:
        config, backend, runtime = self._config, self._backend, self._runtime
        services = LeaderServices(
            group_id=config["group.id"],
            worker=self.name,
            fencer=ConnectorFencer(config, backend, self._plugins, runtime, self._planner.transformer),
            refuse_shared_id=lambda: refuse_shared_leaders_id(backend, config),
            announce=announce,
            runtime=runtime,
        )
        return Leader(self._topic, leaders_writer(config, backend, self._topic, runtime, self.name), services)

    def _made_services(self, announce: Announce) -> WorkerServices:
        return WorkerServices(
            group_id=self._config["group.id"],
            worker=self.name,
            backend=self._backend,
            config_topic=self._topic,
            worker_offsets=self._worker_offsets,
            planner=self._planner,
            leader=self._leader,
            member=self._member,
            announce=announce,
            runtime=self._runtime,
            starts=StartQueue(self._runtime),
            plugin_metrics=self._plugin_metrics,
        )

    def _made_watchers(self) -> ConnectorWatchers:
        services = WatcherServices(
            runtime=self._runtime,
            reconfigure=self._reconfigure,
            failed=lambda *_: None,  # `status` asks
            redacted=self._planner.transformer.redact_exception,
            metrics=self._plugin_metrics,
        )
        offsets = OffsetServices(
            config=self._config,
            backend=self._backend,
            plugins=self._plugins,
            worker_offsets=self._worker_offsets,
            runtime=self._runtime,
        )
        return ConnectorWatchers(services, offsets)

    def start(self) -> None:
        """Create internal topics, claim leadership, read the config topic; ConfigError if properties cannot work."""
        self._log_redaction.start()
        config = self._config
        problems = worker_problems(self._plugins, config, self._backend.name, self._backend.problems)
        if isinstance(self._launcher, ThreadLauncher):
            problems += task_isolation_problems(config, "worker", "here tasks share one process, so remove it")
        if problems:
            raise ConfigError(*problems)
        admin = self._backend.admin()
        try:
            refuse_live_workers(admin, config["group.id"])
            ensure_internal_topics(admin, config)
            self._planner.facts = replace(self._planner.facts, max_transaction_timeout=admin.max_transaction_timeout())
        finally:
            admin.close()
        self._reporting.start()
        # Before the claim, which would fence that other group.
        refuse_shared_leaders_id(self._backend, config)
        self._leader.start()
        self._member.join(self._executor)

    def put_connector(self, name: str, properties: Mapping[str, str]) -> int:
        """Commit a connector's configuration and replace its tasks; return the new generation.

        Tasks of the old generation get `task.shutdown.graceful.timeout.ms` together to stop; those that do not stop
        are reported as zombies. ConfigError lists everything that is wrong with the properties; then nothing has
        changed. SupersededError if a newer run of the group took over.
        """
        with self._exclusively():
            return self._put(name, properties)

    def _put(self, name: str, properties: Mapping[str, str]) -> int:
        validated = self._planner.check(name, properties)
        if clients.exactly_once(self._config):
            own = validated.transactional_ids(self._config["group.id"])
            refuse_shared_ids(self._backend, self._config, f"connector {name}", own)
        self._planner.log_replaced_properties(validated)
        generation = self._write(name, validated)
        self._watchers.start(name, validated, again=True)
        return generation

    def _write(self, name: str, validated: ValidatedConnector) -> int:
        # Before anything is written: tasks of the generation before go on if the topic cannot be made, or is unfit.
        ensure_offsets_topic_of(self._worker_offsets, validated.config)
        generation = self._leader.put_connector(name, validated.properties, validated.tasks)
        self._member.on_new_generation(Assignment(name, generation, range(len(validated.tasks))))
        return generation

    def reload(self) -> None:
        """Restart what was started with values of config providers that have expired (`config.action.reload`)."""
        for expired in self._reloads.take_due():
            try:
                self._reload(expired)
            except EosfwError as error:  # what runs goes on with the values that it has
                logger.warning("connector %s could not be reloaded yet: %s", expired.connector, error)
                self._reloads.retry(expired)

    def _reload(self, expired: ExpiredConfig) -> None:
        name, tasks = expired.connector, expired.tasks
        entry = self._topic.entry(name)
        if entry.properties is None:
            return
        self._planner.transformer.transform(entry.properties)
        if expired.connector_itself:
            self._reconfigure(name, again=True)
            if not isinstance(self._launcher, ThreadLauncher):
                # In processes of their own they have looked up the same values, and nobody here was told.
                tasks = tuple(range(len(entry.tasks)))
        if tasks:
            with self._exclusively(), self._replacing_tasks():
                self._executor.restart_tasks(name, tasks, ended=False)

    def _reconfigure(self, name: str, *, again: bool = False) -> None:
        """Ask a connector for its tasks; if they are others than before, they are its next generation.

        `again`: have it start to watch its source anew as well.
        """
        with self._exclusively():
            entry = self._topic.entry(name)
            if entry.properties is None:
                return
            validated = self._planner.check(name, entry.properties)
            if [dict(task) for task in entry.tasks] != [dict(task) for task in validated.tasks]:
                with self._replacing_tasks():
                    self._write(name, validated)
            if again:
                self._watchers.start(name, validated, again=True)

    @contextmanager
    def _replacing_tasks(self) -> Iterator[None]:
        self._changes += 1
        try:
            yield
        finally:
            self._changes += 1

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        with self._control.held(self._runtime.now() + _CONTROL_TIMEOUT) as mine:
            if not mine:
                raise RequestTimeoutError(f"another connector was configured for {_CONTROL_TIMEOUT:g} s")
            yield

    def remove_connector(self, name: str) -> None:
        """Delete a connector and stop its tasks; the task count record stays, so a namesake still fences them."""
        self._watchers.stop(name)
        with self._exclusively():
            self._remove(name)

    def _remove(self, name: str) -> None:
        self._leader.remove_connector(name)
        self._member.on_removal(name)

    def pause_connector(self, name: str) -> None:
        """Ask a connector's tasks to commit and poll no more, until they are resumed; does not wait (TXN-12)."""
        self._executor.pause(name)

    def resume_connector(self, name: str) -> None:
        """Ask a connector's paused tasks to go on; does not wait."""
        self._executor.resume(name)

    def status(self) -> WorkerStatus:
        """The status of every task; cheap, from any thread."""
        failures = self._watchers.failures()
        connectors = {
            name: replace(connector, error=failures.get(name))
            for name, connector in self._executor.connectors().items()
        }
        zombies, retired = self._executor.replaced()
        tasks = [task for connector in connectors.values() for task in connector.tasks]
        superseded = self._leader.superseded or any(task.superseded and not self._replaces(task) for task in tasks)
        return WorkerStatus(self.name, connectors, zombies, retired, superseded)

    def _replaces(self, task: TaskStatus) -> bool:
        """Whether a task was superseded by a generation of this worker itself, whose tasks are about to start."""
        entry = self._topic.entry(task.id.connector)
        return entry.committed_by == self.name and entry.generation != task.generation

    def drained(self, idle: float) -> bool:
        """Whether every source is at its end, or does not know and has given no records for `idle` seconds.

        A task that sends or commits is not idle, however long that takes, nor is one whose polls fail. Failed,
        superseded and stopped tasks do not count as drained: look at `status`; neither does a connector that is about
        to have other tasks. With interval boundaries a drained run
        may have an open transaction, which `stop` commits.
        """
        now, changes = self._runtime.now(), self._changes
        drained = all(task.drained(now, idle) for task in self.status().tasks)
        # While tasks are replaced there are none for a while, and the count is odd.
        return drained and self._watchers.settled() and changes == self._changes and not changes % 2

    def confirm(self) -> None:
        """Raise SupersededError if a newer run of the group took over, even before a task notices.

        A task notices by its producer; a task that has nothing to send would never notice.
        """
        self._leader.confirm()

    def stop(self, timeout: float | None = None) -> None:
        """Stop cleanly: each task finishes its batch and commits (TXN-11).

        After `timeout` seconds (default `task.shutdown.graceful.timeout.ms`) clients are closed, so that transactions
        that are still open abort.
        """
        # In this order: tasks commit and have offsets copied, so the copies end after them; tasks ask the leader as
        # long as they run, so it is closed behind them, and the config topic that all of them read is the last.
        patience = self._graceful_timeout if timeout is None else timeout
        run_all(
            lambda: self._watchers.close(patience),
            lambda: self._executor.stop(patience),
            self._reporting.close,
            self._launcher.close,
            lambda: self._worker_offsets.close(COPY_TIMEOUT),
            self._close_clients,
        )

    def kill(self) -> None:
        """Close every client at once, so that open transactions abort; from any thread, also during `stop`."""
        run_all(
            lambda: self._watchers.close(0),
            self._executor.kill,
            lambda: self._reporting.close(0),
            self._launcher.close,
            lambda: self._worker_offsets.close(0),
            self._close_clients,
        )

    def _close_clients(self) -> None:
        run_all(
            self._member.leave,
            self._leader.close,
            self._topic.close,
            self._planner.transformer.close,
            self._log_redaction.stop,
        )

    @property
    def _graceful_timeout(self) -> float:
        return float(self._config["task.shutdown.graceful.timeout.ms"]) / 1000
