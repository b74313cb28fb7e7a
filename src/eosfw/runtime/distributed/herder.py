"""A worker of a group of any number of processes (Kafka Connect's `DistributedHerder`)."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from eosfw.concurrency import Queue, Runtime, Spawned
from eosfw.errors import EosfwError, RequestRefusedError, RetriableError, one_line
from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder import (
    ActiveTopics,
    ConfigInfos,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorPluginInfo,
    ConnectorStateInfo,
    CreatedConnector,
    InternalRequest,
    LoggerLevel,
    OpenTransactionInfo,
    ServerInfo,
    StreamingQueryInfo,
    TaskInfo,
    TaskStateInfo,
    WorkerGroup,
    WorkerHealth,
)
from eosfw.runtime.distributed.herder_parts import HerderParts, WorkerSetup, build_herder
from eosfw.runtime.distributed.loggers import level_number
from eosfw.runtime.status import WorkerStatus
from eosfw.state.fencing.failure import lacks_right, may_pass
from eosfw.state.group.reachability import unreachable_text
from eosfw.state.storage.config_records import PAUSED, STARTED, session_key_record
from eosfw.state.storage.group_requests import RestartRequest
from eosfw.state.tasks.metrics import Metric

logger = logging.getLogger(__name__)

TICK = 0.25
"""Seconds between two looks at the config topic."""
_UNHEALTHY_AFTER = 10.0
"""Seconds after which a worker that cannot follow its group is unhealthy (KIP-1017)."""
_STOP_TIMEOUT = 5.0
"""Seconds in which what is under way may end: where the cluster is gone, only closing the clients ends it."""
_JOIN_TIMEOUT = 30.0

_ASK_AGAIN = 503
"""The status code of a fencing that failed for a passing reason; one that failed for good is a 500, as in Connect."""


class DistributedHerder:
    """The `Herder` of one worker. `start` and `stop` are called once; the others by any thread.

    A thread of its own reads the config topic and acts on what is new: states that connectors shall be in, requests to
    restart, levels of loggers, session keys. In the leader it also configures tasks.
    """

    def __init__(self, setup: WorkerSetup) -> None:
        self._runtime: Runtime = setup.runtime
        self._wakeups: Queue[None] = setup.runtime.queue()
        self._parts: HerderParts = build_herder(setup, self._wake)
        self._services = self._parts.services
        self._stopping = False
        self._thread: Spawned | None = None
        self._cluster_id: str | None = None
        self._server_info: ServerInfo | None = None
        self._followed_at: float | None = None
        """When the worker followed its group last: read the config topic, and did all that it asks for."""
        self._handled = 0
        """The offset up to which requests to the group were taken."""
        self._restarts: deque[RestartRequest] = deque()
        """Those of them that ask for restarts and were not acted upon yet."""
        self._problem: BaseException | None = None
        """Why the thread could not follow the group last time; None once it can."""
        self._led = self._warned = self._was_member = False

    # --- life cycle

    def start(self) -> None:
        """Create internal topics, join the group, start what is assigned.

        It returns once the group counts this worker in; where that takes long, it goes on in the background.
        ConfigError if properties cannot work; the cluster's refusal if the worker lacks a right that it needs to join.
        """
        try:
            self._start()
        except BaseException:
            self.kill()
            raise

    def _start(self) -> None:
        self._parts.prepare()
        self._services.topic.read_to_end()
        self._handled = self._services.topic.position
        self._services.statuses.read_to_end()
        self._cluster_id = self._parts.cluster_id()
        self._parts.join()
        self._thread = self._runtime.spawn("eosfw-herder", self._run)
        self._await_assignment()
        if self._parts.rest is not None:
            self._parts.rest.serve(self, self._parts.extensions.all)

    def stop(self, timeout: float | None = None) -> None:
        """Leave the group: each task finishes its batch and commits, its state is reported, clients are closed."""
        self._stopping = True
        self._wake()
        if self._thread is not None:
            self._thread.join(_STOP_TIMEOUT)
        self._parts.close(timeout)

    def kill(self) -> None:
        """Close every client at once, so that open transactions abort; from any thread, also during `stop`."""
        self._stopping = True
        self._wake()
        self._parts.kill()

    @property
    def name(self) -> str:
        """The worker's name, unique in its group."""
        return self._parts.name

    def leads(self) -> bool:
        """Whether this worker leads its group, as far as it knows."""
        return self._services.member.leads()

    def worker_status(self) -> WorkerStatus:
        """The tasks of this worker."""
        connectors = self._parts.executor.connectors()
        zombies, retired = self._parts.executor.replaced()
        return WorkerStatus(self._parts.name, connectors, zombies, retired)

    def _await_assignment(self) -> None:
        deadline = self._runtime.now() + _JOIN_TIMEOUT
        while not self._services.member.has_joined() and self._runtime.now() < deadline:
            if self._problem is not None and lacks_right(self._problem):
                raise self._problem
            self._runtime.sleep(TICK / 5)

    def _wake(self) -> None:
        self._wakeups.put(None)

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._tick()
                self._problem = None
            except (Exception, SystemExit) as error:  # noqa: BLE001 a connector must not end this thread
                if not self._stopping:  # a stop closes the clients under a call
                    self._report(error)
            with suppress(TimeoutError):  # nobody asked for anything, or nobody else
                self._wakeups.get(TICK)
                while True:  # one look is enough for all who ask meanwhile
                    self._wakeups.get(0)

    def _report(self, error: BaseException) -> None:
        """Warn, but not at each attempt that fails in the same way."""
        if str(error) != str(self._problem):
            trace = None if isinstance(error, EosfwError) else error
            logger.warning(
                "the worker could not follow its group, and goes on trying: %s", one_line(error), exc_info=trace
            )
        self._problem = error

    def _tick(self) -> None:
        services = self._services
        # Not to the end: a leader that stands in a transaction would hold up the worker that is elected to fence it.
        services.topic.read_decided()
        services.member.on_config_update(services.topic)
        self._was_member = self._was_member or services.member.has_joined()
        services.tasks.follow_target_states()
        self._act_on_requests()
        services.statuses.read_to_end()
        self._parts.restarts.reload()
        self._warn_if_unreachable()
        self._lead()
        self._followed_at = self._runtime.now()

    def _act_on_requests(self) -> None:
        # Both at once: another thread may read on at any moment, and nothing may be done twice, or never.
        asked, self._handled = self._services.topic.requests_since(self._handled)
        for namespace, level in asked.logger_levels.items():
            try:
                self._parts.loggers.set_level(namespace, level)
            except EosfwError as error:
                logger.warning("the group asked for a level that does not exist: %s", error)
        self._restarts.extend(asked.restarts)
        while self._restarts:
            request = self._restarts.popleft()
            try:
                self._parts.restarts.act_upon(request)
            except RetriableError:
                self._restarts.appendleft(request)  # for the next look, with those that follow
                raise

    def _warn_if_unreachable(self) -> None:
        if self._warned:
            return
        url = None if self._parts.rest is None else self._parts.rest.url
        problem = unreachable_text(self._parts.name, url, self._services.member.workers())
        if problem is not None:
            self._warned = True
            logger.warning("%s", problem)

    def _lead(self) -> None:
        if not self._services.member.leads():
            if self._led:
                self._parts.reconfiguration.follow()
            self._led = False
            return
        if not self._led:
            self._parts.reconfiguration.forget()
            self._parts.states.forget()
            self._led = True
        key = self._parts.signatures.new_key()
        if key is not None:
            self._services.leader.write([session_key_record(key)])
        self._parts.reconfiguration.run()
        self._parts.states.delete_outdated()

    # --- the worker

    def server_info(self) -> ServerInfo:
        if self._server_info is None:
            # It runs git in a checkout: no start waits for that, and no second request.
            from eosfw import __version__
            from eosfw.commit import commit_id

            # While a worker starts its interface does not answer yet.
            self._server_info = ServerInfo(__version__, commit_id(), self._cluster_id or self._parts.cluster_id())
        return self._server_info

    def health(self) -> WorkerHealth:
        joined = self._services.member.has_joined()
        if self._followed_at is None or not (joined or self._was_member):
            return self._unhealthy("starting", "Worker is still starting up.")
        if self._runtime.now() - self._followed_at > _UNHEALTHY_AFTER:
            unable = "Worker was unable to handle this request and may be unable to handle others."
            return self._unhealthy("unhealthy", unable)
        if not joined:
            return self._unhealthy("unhealthy", "Worker is not a member of its group, and tries to join it again.")
        return WorkerHealth("healthy", "Worker has completed startup and is ready to handle requests.")

    def _unhealthy(self, status: str, message: str) -> WorkerHealth:
        why = self._problem or self._services.member.join_error()
        if why is None:
            return WorkerHealth(status, message)
        # Only errors of the framework keep secrets of connectors to themselves.
        shown = one_line(why) if isinstance(why, EosfwError) else f"{type(why).__name__}: see the log of the worker"
        return WorkerHealth(status, f"{message} {shown}")

    def leader_url(self) -> str | None:
        return self._services.member.leader_url()

    def metrics(self) -> Sequence[Metric]:
        return self._parts.metrics.all()

    # --- the group and its cluster

    def group(self) -> WorkerGroup:
        return self._services.member.group()

    def open_transactions(self) -> Sequence[OpenTransactionInfo]:
        return self._parts.transactions.open()

    def streaming_queries(self) -> Sequence[StreamingQueryInfo]:
        return ()

    # --- connectors

    def connectors(self) -> Sequence[str]:
        return sorted(self._services.topic.connectors())

    def settled_generation(self, name: str) -> int | None:
        """The newest generation of a connector's tasks, as far as this worker has read.

        None while the leader has yet to make tasks of the connector's newest properties, and for an unknown connector.
        """
        entry = self._services.topic.entry(name)
        settled = entry.properties is not None and entry.applied_properties == entry.properties
        return entry.generation if settled else None

    def connector_info(self, name: str) -> ConnectorInfo:
        entry = self._services.connector(name)
        tasks = [ConnectorTaskId(name, number) for number in range(len(entry.tasks))]
        return ConnectorInfo(name, entry.properties or {}, tasks)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        return self._parts.states.connector(name)

    def connector_statuses(self) -> Mapping[str, ConnectorStateInfo]:
        return self._parts.states.connectors()

    def put_connector(
        self, name: str, config: Mapping[str, str | None], *, initial_state: str | None = None, replace: bool = True
    ) -> CreatedConnector:
        return self._parts.requests.put(name, config, initial_state, replace=replace)

    def patch_connector(self, name: str, changes: Mapping[str, str | None]) -> CreatedConnector:
        return self._parts.requests.patch(name, changes)

    def delete_connector(self, name: str) -> None:
        self._parts.requests.delete(name)

    def pause_connector(self, name: str) -> None:
        self._parts.requests.set_target_state(name, PAUSED)

    def resume_connector(self, name: str) -> None:
        self._parts.requests.set_target_state(name, STARTED)

    def stop_connector(self, name: str) -> None:
        self._parts.requests.stop(name)

    def restart_connector(self, name: str) -> None:
        self._parts.restarts.restart_connector(name)

    def restart_connector_and_tasks(self, name: str, *, only_failed: bool, include_tasks: bool) -> ConnectorStateInfo:
        request = RestartRequest(name, only_failed=only_failed, include_tasks=include_tasks)
        return self._parts.restarts.restart_connector_and_tasks(request)

    def active_topics(self, name: str) -> ActiveTopics:
        return self._parts.states.topics(name)

    def reset_active_topics(self, name: str) -> None:
        self._parts.states.reset_topics(name)

    # --- tasks

    def task_infos(self, name: str) -> Sequence[TaskInfo]:
        tasks = self._services.connector(name).tasks
        return [TaskInfo(ConnectorTaskId(name, number), config) for number, config in enumerate(tasks)]

    def task_status(self, task: ConnectorTaskId) -> TaskStateInfo:
        return self._parts.states.task(task)

    def restart_task(self, task: ConnectorTaskId) -> None:
        self._parts.restarts.restart_task(task)

    # --- offsets

    def connector_offsets(self, name: str) -> Sequence[ConnectorOffset]:
        return self._parts.offsets.show(name)

    def alter_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        return self._parts.offsets.alter(name, offsets)

    def reset_offsets(self, name: str) -> str:
        return self._parts.offsets.reset(name)

    # --- plugins and loggers

    def plugins(self, *, connectors_only: bool) -> Sequence[ConnectorPluginInfo]:
        return self._parts.plugins.plugins(connectors_only=connectors_only)

    def plugin_config(self, plugin: str) -> Sequence[Mapping[str, Any]]:
        return self._parts.plugins.plugin_config(plugin)

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        return self._parts.plugins.validate(plugin, config)

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return self._parts.loggers.all()

    def logger(self, name: str) -> LoggerLevel:
        return self._parts.loggers.level(name)

    def set_logger_level(self, name: str, level: str, *, cluster: bool = False) -> Sequence[str]:
        if not cluster:
            return self._parts.loggers.set_level(name, level)
        level_number(level)
        self._parts.requests.set_logger_level(name, level)
        return []

    # --- for other workers of the group

    def fence_zombies(self, name: str, request: InternalRequest | None) -> None:
        if request is not None:
            self._parts.signatures.refuse_unless_valid(request)
        self._services.require_leader("Only the leader may perform zombie fencing.")
        self._services.connector(name)
        try:
            self._services.leader.fence_newest_generation(name)
        except EosfwError as error:
            if request is None or not may_pass(error):
                raise
            raise RequestRefusedError(str(error), _ASK_AGAIN) from error

    def put_task_configs(
        self, name: str, configs: Callable[[], Sequence[Mapping[str, str]]], request: InternalRequest | None
    ) -> None:
        if request is not None:
            self._parts.signatures.refuse_unless_valid(request)
        self._parts.requests.put_task_configs(name, configs())
