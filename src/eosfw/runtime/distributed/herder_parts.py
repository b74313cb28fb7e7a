"""The parts of a herder, put together (the constructor of Kafka Connect's `DistributedHerder`)."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version

from eosfw.closeables import run_all
from eosfw.concurrency import Runtime
from eosfw.config import Config, clients
from eosfw.config.worker import SUPPORT, WORKER, task_isolation_problems
from eosfw.errors import ConfigError
from eosfw.observe import Metrics, PluginMetricsRegistry
from eosfw.protocols import Backend, IsolationLevel, RestServer
from eosfw.registry import Plugins, load_plugins
from eosfw.registry.config_transformer import parse_worker
from eosfw.runtime.checks.id_collision_check import refuse_shared_leaders_id
from eosfw.runtime.checks.log_redaction import LogRedaction
from eosfw.runtime.checks.preflight import worker_problems
from eosfw.runtime.connectors.offsets import OffsetServices
from eosfw.runtime.connectors.watcher import WatcherServices
from eosfw.runtime.connectors.watchers import ConnectorWatchers
from eosfw.runtime.distributed.assigned_tasks import AssignedTasks
from eosfw.runtime.distributed.connector_requests import ConnectorRequests
from eosfw.runtime.distributed.loggers import Loggers
from eosfw.runtime.distributed.metrics import GroupMetrics
from eosfw.runtime.distributed.offset_requests import OffsetRequests
from eosfw.runtime.distributed.plugin_queries import PluginQueries
from eosfw.runtime.distributed.reconfiguration import ConnectorReconfiguration
from eosfw.runtime.distributed.rest_extensions import WorkerRestExtensions
from eosfw.runtime.distributed.restart_requests import RestartRequests
from eosfw.runtime.distributed.services import HerderServices
from eosfw.runtime.distributed.state_queries import StateQueries
from eosfw.runtime.distributed.state_reports import StateReports
from eosfw.runtime.distributed.transaction_queries import TransactionQueries
from eosfw.runtime.fencing.connector_fencer import ConnectorFencer
from eosfw.runtime.fencing.leader import Leader, LeaderServices
from eosfw.runtime.fencing.leader_client import LeaderClient
from eosfw.runtime.fencing.request_signatures import InternalRequestSignatures
from eosfw.runtime.group.members_topic import MembersTopic
from eosfw.runtime.group.membership import GroupMembership
from eosfw.runtime.group.services import MembershipServices, MembershipSettings
from eosfw.runtime.hosting.executor import TaskExecutor
from eosfw.runtime.metrics.reporting import MetricsReporting, metrics_reporting
from eosfw.runtime.metrics.worker_metrics import WorkerMetrics
from eosfw.runtime.storage.config_topic import ConfigTopic, open_config_topic
from eosfw.runtime.storage.config_writer import ConfigWriter, leaders_writer, unprivileged_writer
from eosfw.runtime.storage.global_offset_backing_store import COPY_TIMEOUT, GlobalOffsetBackingStore
from eosfw.runtime.storage.internal_topics import ensure_internal_topics, members_topic_name
from eosfw.runtime.storage.kafka_based_log import LogSource
from eosfw.runtime.storage.status_topic import StatusTopic
from eosfw.runtime.tasks.config_reloads import ConfigReloads
from eosfw.runtime.tasks.planner import ClusterFacts, TaskPlanner
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.runtime.tasks.start_queue import StartQueue
from eosfw.state.group.reachability import worker_name
from eosfw.state.steps import Announce


def worker_config(
    properties: Mapping[str, str],
    rest: type[RestServer] | None = None,
    where: str = "",
    plugins: Plugins | None = None,
) -> Config:
    """The properties of a worker, with those of its REST interface; ConfigError lists what is wrong.

    References are looked up with the config providers of `plugins`, else with those that are installed.
    """
    definition = WORKER if rest is None else WORKER + rest.config
    config = parse_worker(plugins or load_plugins(), definition, properties, where)
    # A process of its own knows its generation by the worker that committed it, and in a group that is the leader.
    instead = "remove it, and start another worker of the group on this machine, which has a process of its own"
    if problems := task_isolation_problems(config, where, instead):
        raise ConfigError(*problems)
    return config


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """What a worker of a group is made of."""

    config: Config
    backend: Backend
    plugins: Plugins
    announce: Announce
    runtime: Runtime
    rest: RestServer | None = None
    name: str | None = None
    """The worker's name, which no other start may have had; by default of its host, its process and chance."""
    cancels_tasks: bool = True
    """Whether tasks that do not stop in time are cancelled; else they keep their clients, as zombies in tests do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HerderParts:
    """Every part of one worker."""

    setup: WorkerSetup
    name: str
    services: HerderServices
    executor: TaskExecutor
    signatures: InternalRequestSignatures
    requests: ConnectorRequests
    restarts: RestartRequests
    offsets: OffsetRequests
    reconfiguration: ConnectorReconfiguration
    states: StateQueries
    plugins: PluginQueries
    loggers: Loggers
    writer: ConfigWriter
    metrics: GroupMetrics
    reporting: MetricsReporting
    log_redaction: LogRedaction
    transactions: TransactionQueries
    extensions: WorkerRestExtensions

    @property
    def rest(self) -> RestServer | None:
        """The REST interface, if there is one."""
        return self.setup.rest

    def prepare(self) -> None:
        """Refuse properties that cannot work; create internal topics."""
        self.log_redaction.start()
        setup = self.setup
        problems = worker_problems(setup.plugins, setup.config, setup.backend.name, setup.backend.problems)
        if problems:
            raise ConfigError(*problems)
        with closing(setup.backend.admin()) as admin:
            ensure_internal_topics(admin, setup.config, distributed=True)
            planner = self.services.planner
            planner.facts = replace(planner.facts, max_transaction_timeout=admin.max_transaction_timeout())
        self.reporting.start()
        if self.rest is not None:
            self.extensions.start()

    def join(self) -> None:
        """Take part in the group."""
        refuse_shared_leaders_id(self.setup.backend, self.setup.config)
        self.services.member.join(self.services.tasks)

    def cluster_id(self) -> str:
        """The id of the cluster; asks it."""
        with closing(self.setup.backend.admin()) as admin:
            return admin.cluster_id() or "unknown"

    def close(self, timeout: float | None) -> None:
        """Stop the tasks, leave the group, write their states, close the clients."""
        graceful = float(self.setup.config["task.shutdown.graceful.timeout.ms"]) / 1000
        patience = graceful if timeout is None else timeout
        run_all(
            lambda: self.reconfiguration.watchers.close(patience),
            lambda: self.executor.stop(patience),
            self.reporting.close,
            lambda: self.services.worker_offsets.close(COPY_TIMEOUT),
            self.services.member.leave,
            self.services.statuses.close,
            self._close_clients,
        )

    def kill(self) -> None:
        """Close every client at once."""
        run_all(
            lambda: self.reconfiguration.watchers.close(0),
            self.executor.kill,
            lambda: self.reporting.close(0),
            lambda: self.services.worker_offsets.close(0),
            self.services.member.leave,
            self.services.statuses.kill,
            self.extensions.close,
            self._close_clients,
        )

    def _close_clients(self) -> None:
        run_all(
            self.services.leader.close,
            self.writer.close,
            self.services.topic.close,
            self.services.planner.transformer.close,
            self.log_redaction.stop,
        )


def build_herder(setup: WorkerSetup, wake: Callable[[], None]) -> HerderParts:
    """Make the parts; starts nothing but the thread that writes states."""
    config, backend, runtime = setup.config, setup.backend, setup.runtime
    name = setup.name or worker_name(socket.gethostname(), os.getpid(), secrets.token_hex(3))
    url = None if setup.rest is None else setup.rest.url
    extensions = WorkerRestExtensions(config, setup.plugins, setup.announce)
    setup = replace(setup, announce=extensions.announce)
    topic = open_config_topic(config, backend, runtime)
    reloads = ConfigReloads(runtime)
    planner = TaskPlanner(config, setup.plugins, ClusterFacts(backend.capabilities, backend.problems), reloads)
    leader = Leader(
        topic,
        leaders_writer(config, backend, topic, runtime, name),
        _leader_services(setup, name, planner, lambda: member.confirm_leadership()),  # noqa: PLW0108 the member is made of this leader, below
    )
    member = GroupMembership(_membership_services(setup, name, url, leader, wake))
    signatures = InternalRequestSignatures(config, name, topic, runtime)
    producer = clients.plain_producer(config).properties
    statuses = StatusTopic(backend, config["status.storage.topic"], runtime, producer)
    worker_id = name if url is None else url.partition("://")[2].rstrip("/")
    reports = _state_reports(setup, topic, statuses, worker_id, member)
    worker_offsets = GlobalOffsetBackingStore(config, backend, runtime)
    measured, plugin_metrics = Metrics(runtime), PluginMetricsRegistry(runtime)
    worker_services = WorkerServices(
        group_id=config["group.id"],
        worker=name,
        backend=backend,
        config_topic=topic,
        worker_offsets=worker_offsets,
        planner=planner,
        leader=LeaderClient(leader, member, signatures, setup.rest, topic),
        member=member,
        announce=measured.before(setup.announce),
        runtime=runtime,
        starts=StartQueue(runtime),
        plugin_metrics=plugin_metrics,
        listener=reports,
    )
    graceful_timeout = float(config["task.shutdown.graceful.timeout.ms"]) / 1000
    executor = TaskExecutor(worker_services, graceful_timeout, cancels=setup.cancels_tasks)
    services = HerderServices(
        config=config,
        topic=topic,
        worker_offsets=worker_offsets,
        leader=leader,
        member=member,
        planner=planner,
        reloads=reloads,
        tasks=AssignedTasks(executor, topic, runtime),
        statuses=statuses,
        reports=reports,
        runtime=runtime,
        wake=wake,
    )
    measuring = _Measuring(WorkerMetrics(measured, executor, plugin_metrics), plugin_metrics, worker_id)
    return _parts_over(setup, name, services, executor, signatures, measuring, extensions)


@dataclass(frozen=True, slots=True)
class _Measuring:
    """What measures, without the group."""

    worker: WorkerMetrics
    plugins: PluginMetricsRegistry
    worker_id: str


def _state_reports(
    setup: WorkerSetup, topic: ConfigTopic, statuses: StatusTopic, worker_id: str, member: GroupMembership
) -> StateReports:
    def version_of(connector: str) -> str | None:
        properties = topic.entry(connector).properties or {}
        return setup.plugins.connector_version(properties.get("connector.class", ""))

    track_topics = setup.config["topic.tracking.enable"]
    return StateReports(
        statuses, worker_id, lambda: member.generation, version_of, setup.runtime, track_topics=track_topics
    )


def _parts_over(
    setup: WorkerSetup,
    name: str,
    services: HerderServices,
    executor: TaskExecutor,
    signatures: InternalRequestSignatures,
    measuring: _Measuring,
    extensions: WorkerRestExtensions,
) -> HerderParts:
    """The parts that answer requests, over those that do the work."""
    config, backend, runtime = setup.config, setup.backend, setup.runtime
    plugins = PluginQueries(config, setup.plugins, services.planner)
    states = StateQueries(services)
    offsets = OffsetServices(
        config=config,
        backend=backend,
        plugins=setup.plugins,
        worker_offsets=services.worker_offsets,
        runtime=runtime,
    )
    watchers = partial(_watchers, services, offsets, measuring.plugins)
    reconfiguration = ConnectorReconfiguration(services, watchers)
    metrics = GroupMetrics(measuring.worker, services.member, reconfiguration.startups, measuring.worker_id, runtime)
    writer = unprivileged_writer(config, backend, services.topic, runtime, name)
    return HerderParts(
        setup=setup,
        name=name,
        services=services,
        executor=executor,
        signatures=signatures,
        requests=ConnectorRequests(services, plugins, writer),
        offsets=OffsetRequests(services, offsets),
        restarts=RestartRequests(services, states, reconfiguration),
        reconfiguration=reconfiguration,
        states=states,
        plugins=plugins,
        loggers=Loggers(runtime.wall),
        writer=writer,
        metrics=metrics,
        reporting=metrics_reporting(config, setup.plugins, backend, runtime, metrics.all),
        log_redaction=LogRedaction(services.planner.transformer.redact),
        transactions=TransactionQueries(services.active_topics, backend, runtime),
        extensions=extensions,
    )


def _watchers(
    services: HerderServices, offsets: OffsetServices, metrics: PluginMetricsRegistry, request: Callable[[str], None]
) -> ConnectorWatchers:
    """What watches connectors; `request` is called with the name of one that asks for other tasks."""
    watched = WatcherServices(
        runtime=services.runtime,
        reconfigure=request,
        failed=services.reports.connector_failed,
        redacted=services.planner.transformer.redact_exception,
        metrics=metrics,
    )
    return ConnectorWatchers(watched, offsets)


def _leader_services(
    setup: WorkerSetup, name: str, planner: TaskPlanner, confirm_leadership: Callable[[], None]
) -> LeaderServices:
    return LeaderServices(
        group_id=setup.config["group.id"],
        worker=name,
        fencer=ConnectorFencer(setup.config, setup.backend, setup.plugins, setup.runtime, planner.transformer),
        refuse_shared_id=lambda: refuse_shared_leaders_id(setup.backend, setup.config),
        announce=setup.announce,
        runtime=setup.runtime,
        confirm_leadership=confirm_leadership,
    )


def _membership_services(
    setup: WorkerSetup, name: str, url: str | None, leader: Leader, wake: Callable[[], None]
) -> MembershipServices:
    config, backend = setup.config, setup.backend
    settings = MembershipSettings(
        group_id=config["group.id"],
        worker=name,
        url=url,
        support=config[SUPPORT],
        version=version("eosfw"),
        protocol=config["connect.protocol"],
        session_timeout=config["session.timeout.ms"] / 1000,
        rebalance_timeout=config["rebalance.timeout.ms"] / 1000,
        max_delay=config["scheduled.rebalance.max.delay.ms"] / 1000,
        client_properties={"heartbeat.interval.ms": str(config["heartbeat.interval.ms"])},
        producer_properties=clients.plain_producer(config).properties,
    )
    source = LogSource(
        topic=members_topic_name(config), isolation=IsolationLevel.READ_COMMITTED, group_id=config["group.id"]
    )
    return MembershipServices(
        settings=settings,
        backend=backend,
        members=MembersTopic(backend, source, setup.runtime),
        leader=leader,
        announce=setup.announce,
        runtime=setup.runtime,
        wake=wake,
    )
