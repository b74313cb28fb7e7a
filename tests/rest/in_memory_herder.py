"""A herder without a cluster: the states and messages of Kafka Connect's `DistributedHerder`, and nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eosfw.config.kinds import ConnectorName
from eosfw.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConfigError,
    NotFoundError,
    Problem,
    RebalanceNeededError,
    RequestRefusedError,
)
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metric
from eosfw.protocols.herder import (
    ActiveTopics,
    ConfigInfo,
    ConfigInfos,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorPluginInfo,
    ConnectorState,
    ConnectorStateInfo,
    CreatedConnector,
    InternalRequest,
    LoggerLevel,
    ServerInfo,
    TaskInfo,
    TaskStateInfo,
    WorkerHealth,
)

from .connect_calls import JAVA

WORKER = "127.0.0.1:8083"
VERSION = "0.1.0"
_STOP_FIRST = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{0}/stop' endpoint"
)


@dataclass
class Stored:
    config: dict[str, str | None]
    state: str = "RUNNING"
    tasks: int = 1
    offsets: list[ConnectorOffset] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)


class InMemoryHerder:
    """One worker that leads a group of itself."""

    def __init__(self) -> None:
        self.stored: dict[str, Stored] = {}
        self.levels: dict[str, LoggerLevel] = {}
        self.internal_requests: list[InternalRequest | None] = []
        self.before: Callable[[str], None] = lambda _: None
        """Called with the name of each method that changes something; what it raises is what the method raises."""

    # --- the worker

    def server_info(self) -> ServerInfo:
        return ServerInfo("0.1.0", "unknown", "some-cluster")

    def health(self) -> WorkerHealth:
        return WorkerHealth("healthy", "Worker has completed startup and is ready to handle requests.")

    def leader_url(self) -> str | None:
        return f"http://{WORKER}"

    def metrics(self) -> Sequence[Metric]:
        return []

    # --- connectors

    def connectors(self) -> Sequence[str]:
        return list(self.stored)

    def _find(self, name: str, message: str = "Connector {} not found") -> Stored:
        if name not in self.stored:
            raise NotFoundError(message.format(name))
        return self.stored[name]

    def connector_info(self, name: str) -> ConnectorInfo:
        found = self._find(name)
        tasks = [ConnectorTaskId(name, task) for task in range(found.tasks)]
        return ConnectorInfo(name, {key: value for key, value in found.config.items() if value is not None}, tasks)

    def connector_status(self, name: str) -> ConnectorStateInfo:
        found = self._find(name, "No status found for connector {}")
        tasks = [TaskStateInfo(task, found.state, WORKER, None, VERSION) for task in range(found.tasks)]
        return ConnectorStateInfo(name, ConnectorState(found.state, WORKER, None, VERSION), tasks)

    def put_connector(
        self, name: str, config: Mapping[str, str | None], *, initial_state: str | None = None, replace: bool = True
    ) -> CreatedConnector:
        self.before("put_connector")
        self._validate(config)
        if name in self.stored and not replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        created = name not in self.stored
        if created:
            self.stored[name] = Stored(dict(config), initial_state or "RUNNING", 0)
            info = self.connector_info(name)
            self.stored[name].tasks = 1 if self.stored[name].state == "RUNNING" else 0
            path = {"filename": str(config["file"])}
            self.stored[name].offsets = [ConnectorOffset(path, {"position": 14})]
            self.stored[name].topics = [str(config["topic"])]
            return CreatedConnector(created=True, info=info)
        self.stored[name].config = dict(config)
        return CreatedConnector(created=False, info=self.connector_info(name))

    def _validate(self, config: Mapping[str, str | None]) -> None:
        plugin = config.get("connector.class")
        if plugin is None:
            shown = ", ".join(f"{key}={'null' if value is None else value}" for key, value in sorted(config.items()))
            raise BadRequestError(f"Connector config {{{shown}}} contains no connector type")
        if plugin not in (JAVA, "file"):
            raise BadRequestError(f"Failed to find any class that implements Connector and which name matches {plugin}")
        if problems := self._problems(config):
            raise ConfigError(*problems)

    def _problems(self, config: Mapping[str, str | None]) -> list[Problem]:
        problems = []
        for name in ("tasks.max", "batch.size"):
            text = config.get(name)
            if text is not None and not text.isdigit():
                problems.append(Problem("", f"Invalid value {text} for configuration {name}: Not a number of type INT"))
            elif text == "0":
                problems.append(Problem("", f"Invalid value 0 for configuration {name}: Value must be at least 1"))
        problems += _name_problems(config.get("name") or "")
        if config.get("topic") is None:
            problems.append(Problem("", 'Missing required configuration "topic" which has no default value.'))
        return problems

    def patch_connector(self, name: str, changes: Mapping[str, str | None]) -> CreatedConnector:
        merged = {**self._find(name).config, **changes}
        return self.put_connector(name, {key: value for key, value in merged.items() if value is not None})

    def delete_connector(self, name: str) -> None:
        self.before("delete_connector")
        self._find(name)
        del self.stored[name]

    def _to(self, name: str, state: str, tasks: int | None = None) -> None:
        self.before("change_state")
        found = self._find(name, "Unknown connector {}")
        found.state = state
        found.tasks = found.tasks if tasks is None else tasks

    def pause_connector(self, name: str) -> None:
        self._to(name, "PAUSED")

    def resume_connector(self, name: str) -> None:
        self._to(name, "RUNNING", 1)

    def stop_connector(self, name: str) -> None:
        self._to(name, "STOPPED", 0)

    def restart_connector(self, name: str) -> None:
        self.before("restart_connector")
        self._find(name, "Unknown connector: {}")

    def restart_connector_and_tasks(self, name: str, *, only_failed: bool, include_tasks: bool) -> ConnectorStateInfo:
        self._find(name, "Unknown connector: {}")
        status = self.connector_status(name)
        if only_failed:
            return status
        tasks = [TaskStateInfo(task.id, "RESTARTING", WORKER, None, VERSION) for task in status.tasks]
        restarting = ConnectorState("RESTARTING", WORKER, None, VERSION)
        return ConnectorStateInfo(name, restarting, tasks if include_tasks else status.tasks)

    def active_topics(self, name: str) -> ActiveTopics:
        return ActiveTopics(name, self.stored[name].topics if name in self.stored else [])

    def reset_active_topics(self, name: str) -> None:
        if name in self.stored:
            self.stored[name].topics = []

    # --- tasks

    def task_infos(self, name: str) -> Sequence[TaskInfo]:
        config = self.connector_info(name).config | {"task.class": "FileStreamSourceTask"}
        return [TaskInfo(ConnectorTaskId(name, task), config) for task in range(self.stored[name].tasks)]

    def task_status(self, task: ConnectorTaskId) -> TaskStateInfo:
        if task.connector not in self.stored or not 0 <= task.task < self.stored[task.connector].tasks:
            raise NotFoundError(f"No status found for task {task}")
        return TaskStateInfo(task.task, self.stored[task.connector].state, WORKER, None, VERSION)

    def restart_task(self, task: ConnectorTaskId) -> None:
        self.before("restart_task")
        found = self._find(task.connector, "Unknown connector: {}")
        if not 0 <= task.task < found.tasks:
            raise NotFoundError(f"Unknown task: {task}")

    # --- offsets

    def connector_offsets(self, name: str) -> Sequence[ConnectorOffset]:
        return self._find(name).offsets

    def _stopped(self, name: str) -> Stored:
        self.before("offsets")
        found = self._find(name)
        if found.state != "STOPPED":
            raise BadRequestError(_STOP_FIRST.format(name))
        return found

    def alter_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        found = self._stopped(name)
        for one in offsets:
            if "filename" not in one.partition:
                raise BadRequestError("Partition objects should contain the key 'filename'")
            position: Any = None if one.offset is None else one.offset.get("position", "")
            if position is not None and not (isinstance(position, int) and position >= 0):
                raise BadRequestError("The value for the 'position' key in the offset is expected to be a Long value")
        found.offsets = [one for one in offsets if one.offset is not None]
        return "The offsets for this connector have been altered successfully"

    def reset_offsets(self, name: str) -> str:
        self._stopped(name).offsets = []
        return "The offsets for this connector have been reset successfully"

    # --- plugins and loggers

    def plugins(self, *, connectors_only: bool) -> Sequence[ConnectorPluginInfo]:
        return [ConnectorPluginInfo("file", "source", VERSION)]

    def plugin_config(self, plugin: str) -> Sequence[Mapping[str, Any]]:
        if plugin not in (JAVA, "file"):
            raise NotFoundError(f"Unknown plugin {plugin}.")
        return [{"name": "topic", "type": "STRING", "required": True, "importance": "HIGH"}]

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        included = config.get("connector.class")
        if included is None:
            raise BadRequestError("Connector config {} contains no connector type")
        if included != plugin:
            raise BadRequestError(f"Included connector type {included} does not match request type {plugin}")
        problems = self._problems(config)
        configs = [ConfigInfo(one, {"name": "topic", "errors": []}) for one in self.plugin_config(JAVA)]
        return ConfigInfos(plugin, len(problems), ["Common"], configs)

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return self.levels

    def logger(self, name: str) -> LoggerLevel:
        if name == "root":
            return LoggerLevel("ERROR")
        if name not in self.levels:
            raise NotFoundError(f"Logger {name} not found.")
        return self.levels[name]

    def set_logger_level(self, name: str, level: str, *, cluster: bool = False) -> Sequence[str]:
        self.levels[name] = LoggerLevel(level, int(time.time() * 1000))
        return [name]

    # --- for other workers

    def fence_zombies(self, name: str, request: InternalRequest | None) -> None:
        self._check(request)

    def put_task_configs(
        self, name: str, configs: Sequence[Mapping[str, str]], request: InternalRequest | None
    ) -> None:
        self._check(request)

    def _check(self, request: InternalRequest | None) -> None:
        self.internal_requests.append(request)
        if request is not None and "x-connect-authorization" not in request.headers:
            raise RequestRefusedError("Internal request missing required signature", 400)


def _name_problems(name: str) -> list[Problem]:
    if not name:
        return [Problem("", "Invalid value  for configuration name: String may not be empty")]
    try:
        ConnectorName("name").parse(name)
    except ValueError as why:
        return [Problem("", f"Invalid value {name} for configuration name: {why}")]
    return []


def rebalancing(_: str) -> None:
    """For `InMemoryHerder.before`: the group rebalances."""
    raise RebalanceNeededError("a rebalance is under way")
