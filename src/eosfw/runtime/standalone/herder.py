"""The herder of a run: it shows the worker, and changes nothing (Kafka Connect's `StandaloneHerder`)."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from eosfw.config import Config
from eosfw.config.worker import SUPPORT
from eosfw.errors import NotFoundError
from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder import (
    ActiveTopics,
    ConfigInfos,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorPluginInfo,
    ConnectorState,
    ConnectorStateInfo,
    GroupMember,
    LoggerLevel,
    OpenTransactionInfo,
    ServerInfo,
    StreamingQueryInfo,
    TaskInfo,
    TaskStateInfo,
    WorkerGroup,
    WorkerHealth,
)
from eosfw.registry import Plugins
from eosfw.runtime.connectors.offsets import OffsetServices
from eosfw.runtime.distributed.connector_offsets import connector_offsets
from eosfw.runtime.distributed.loggers import Loggers
from eosfw.runtime.distributed.plugin_queries import PluginQueries
from eosfw.runtime.distributed.transaction_queries import TransactionQueries
from eosfw.runtime.standalone.active_topics import ActiveTopicsRecorder
from eosfw.runtime.standalone.refused_changes import RefusedChanges
from eosfw.runtime.status import ConnectorStatus, TaskState, TaskStatus
from eosfw.runtime.worker import Worker
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.tasks.metrics import Metric

_SOURCE = "source-task-metrics"


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What a run is called, where its REST interface is, and what only the run knows of it."""

    name: str
    url: str
    topics: ActiveTopicsRecorder
    queries: Callable[[], Sequence[StreamingQueryInfo]]


class StandaloneHerder(RefusedChanges):
    """The `Herder` of a worker that is a group by itself; thread-safe, also once the worker has stopped."""

    def __init__(self, worker: Worker, config: Config, plugins: Plugins, run: RunDescription) -> None:
        super().__init__(f"{run.name} is a run: its connectors come from its file, and no request changes them")
        self._worker, self._config, self._plugins, self._run = worker, config, plugins, run
        services = worker.services
        self._services, self._topic = services, services.config_topic
        self._plugin_queries = PluginQueries(config, plugins, services.planner)
        self._transactions = TransactionQueries(run.topics.all, services.backend, services.runtime)
        self._offsets = OffsetServices(
            config=config,
            backend=services.backend,
            plugins=plugins,
            worker_offsets=services.worker_offsets,
            runtime=services.runtime,
        )
        self._loggers = Loggers(services.runtime.wall)

    # --- the worker

    def server_info(self) -> ServerInfo:
        from eosfw.commit import commit_id

        with closing(self._services.backend.admin()) as admin:
            return ServerInfo(version("eosfw"), commit_id(), admin.cluster_id() or "unknown")

    def health(self) -> WorkerHealth:
        return WorkerHealth("healthy", "The run goes on.")

    def leader_url(self) -> str | None:
        return self._run.url

    def metrics(self) -> Sequence[Metric]:
        statuses = self._worker.status().tasks
        plugins = self._services.plugin_metrics.metrics({one.id for one in statuses})
        return [*(metric for one in statuses for metric in _of_task(one)), *plugins]

    # --- the group and its cluster

    def group(self) -> WorkerGroup:
        tasks = [one.id for one in self._worker.status().tasks]
        name = self._worker.name
        member = GroupMember(name, self._run.url, tasks, self._config[SUPPORT], version("eosfw"))
        return WorkerGroup(
            group_id=self._config["group.id"],
            generation=1,
            leader=name,
            protocol=None,
            rebalancing=False,
            members=[member],
            moving=[],
            notice=f"This is the run of {self._run.name}: one worker by itself. The pages show it, and change nothing.",
        )

    def open_transactions(self) -> Sequence[OpenTransactionInfo]:
        return self._transactions.open()

    def streaming_queries(self) -> Sequence[StreamingQueryInfo]:
        return self._run.queries()

    # --- connectors

    def connectors(self) -> Sequence[str]:
        return sorted(self._topic.connectors())

    def connector_info(self, name: str) -> ConnectorInfo:
        entry = self._entry(name)
        tasks = [ConnectorTaskId(name, number) for number in range(len(entry.tasks))]
        return ConnectorInfo(name, entry.properties or {}, tasks)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        found = self._worker.status().connectors.get(name)
        if found is None:
            raise NotFoundError(f"No status found for connector {name}")
        return self._state(found)

    def connector_statuses(self) -> Mapping[str, ConnectorStateInfo]:
        return {name: self._state(one) for name, one in self._worker.status().connectors.items()}

    def active_topics(self, name: str) -> ActiveTopics:
        return ActiveTopics(name, self._run.topics.of(name))

    def connector_offsets(self, name: str) -> Sequence[ConnectorOffset]:
        return connector_offsets(self._offsets, name, self._entry(name).properties or {})

    # --- tasks

    def task_infos(self, name: str) -> Sequence[TaskInfo]:
        tasks = self._entry(name).tasks
        return [TaskInfo(ConnectorTaskId(name, number), config) for number, config in enumerate(tasks)]

    def task_status(self, task: ConnectorTaskId) -> TaskStateInfo:
        for one in self.connector_status(task.connector).tasks:
            if one.id == task.task:
                return one
        raise NotFoundError(f"No status found for task {task}")

    # --- plugins and loggers

    def plugins(self, *, connectors_only: bool) -> Sequence[ConnectorPluginInfo]:
        return self._plugin_queries.plugins(connectors_only=connectors_only)

    def plugin_config(self, plugin: str) -> Sequence[Mapping[str, Any]]:
        return self._plugin_queries.plugin_config(plugin)

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        return self._plugin_queries.validate(plugin, config)

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return self._loggers.all()

    def logger(self, name: str) -> LoggerLevel:
        return self._loggers.level(name)

    # --- how they are found

    def _entry(self, name: str) -> ConnectorEntry:
        entry = self._topic.entry(name)
        if entry.properties is None:
            raise NotFoundError(f"Connector {name} not found")
        return entry

    def _state(self, connector: ConnectorStatus) -> ConnectorStateInfo:
        properties = self._topic.entry(connector.name).properties or {}
        made_by = self._plugins.connector_version(properties.get("connector.class", ""))
        where, error = self._run.url.partition("://")[2], connector.error
        trace = None if error is None else "".join(traceback.format_exception(error))
        state = ConnectorState("RUNNING" if error is None else "FAILED", where, trace, made_by)
        tasks = [TaskStateInfo(one.id.task, _task_state(one), where, one.trace, made_by) for one in connector.tasks]
        return ConnectorStateInfo(connector.name, state, tasks)


def _task_state(task: TaskStatus) -> str:
    if task.waiting is not None and not task.state.ended and not task.superseded:
        return "RESTARTING"
    return (TaskState.UNASSIGNED if task.superseded else task.state).value


def _of_task(task: TaskStatus) -> Iterator[Metric]:
    """What a status counts; a run measures no more, since each step of a task would cost a little."""
    labels = {"connector": task.id.connector, "task": str(task.id.task)}
    for name, value, doc in (
        ("source-record-write-total", task.records + task.open_records, "records that were sent"),
        ("source-record-active-count", task.open_records, "records that are not committed yet"),
        ("transactions-total", task.transactions, "committed transactions"),
    ):
        yield Metric(_SOURCE, name, value, labels, doc)
