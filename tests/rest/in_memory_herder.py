"""A herder without a cluster: it keeps connectors, and does what a test says before some calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eosfw.config.definition.kinds import ConnectorName
from eosfw.errors import AlreadyExistsError, ConfigError, NotFoundError, Problem, RequestRefusedError
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metric
from eosfw.protocols.herder import (
    ActiveTopics,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorState,
    ConnectorStateInfo,
    CreatedConnector,
    GroupMember,
    InternalRequest,
    LoggerLevel,
    MovingTask,
    OpenTransactionInfo,
    ServerInfo,
    StreamingQueryInfo,
    WorkerGroup,
    WorkerHealth,
)

WORKER = "127.0.0.1:8083"


@dataclass
class Stored:
    config: dict[str, str | None]
    offsets: list[ConnectorOffset] = field(default_factory=list)


class InMemoryHerder:
    """One worker that leads a group of itself; every connector has one task."""

    def __init__(self) -> None:
        self.stored: dict[str, Stored] = {}
        self.internal_requests: list[InternalRequest | None] = []
        self.before: Callable[[str], None] = lambda _: None
        """Called with the name of each method that changes something; what it raises is what the method raises."""
        self.moving: list[MovingTask] = []
        self.transactions: list[OpenTransactionInfo] = []
        self.queries: list[StreamingQueryInfo] = []

    def server_info(self) -> ServerInfo:
        return ServerInfo("0.1.0", "unknown", "some-cluster")

    def health(self) -> WorkerHealth:
        return WorkerHealth("healthy", "Worker has completed startup and is ready to handle requests.")

    def leader_url(self) -> str | None:
        return f"http://{WORKER}"

    def metrics(self) -> Sequence[Metric]:
        return []

    def group(self) -> WorkerGroup:
        tasks = [ConnectorTaskId(name, 0) for name in sorted(self.stored)]
        members = [GroupMember("worker-1", f"http://{WORKER}", tasks, "enabled", "0.1.0")]
        return WorkerGroup("rest", 7, "worker-1", "sessioned", rebalancing=False, members=members, moving=self.moving)

    def streaming_queries(self) -> Sequence[StreamingQueryInfo]:
        return self.queries

    def open_transactions(self) -> Sequence[OpenTransactionInfo]:
        return self.transactions

    def connectors(self) -> Sequence[str]:
        return list(self.stored)

    def _find(self, name: str) -> Stored:
        if name not in self.stored:
            raise NotFoundError(f"Connector {name} not found")
        return self.stored[name]

    def connector_info(self, name: str) -> ConnectorInfo:
        config = {key: value for key, value in self._find(name).config.items() if value is not None}
        return ConnectorInfo(name, config, [ConnectorTaskId(name, 0)])

    def connector_status(self, name: str) -> ConnectorStateInfo:
        self.before("connector_status")
        self._find(name)
        return ConnectorStateInfo(name, ConnectorState("RUNNING", WORKER), [])

    def connector_statuses(self) -> Mapping[str, ConnectorStateInfo]:
        return {name: self.connector_status(name) for name in self.stored}

    def put_connector(
        self, name: str, config: Mapping[str, str | None], *, initial_state: str | None = None, replace: bool = True
    ) -> CreatedConnector:
        self.before("put_connector")
        try:
            ConnectorName("name").parse(name)
        except ValueError as why:
            raise ConfigError(Problem("", f"Invalid value {name} for configuration name: {why}")) from None
        created = name not in self.stored
        if not created and not replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        self.stored[name] = Stored(dict(config), [ConnectorOffset({"filename": "x"}, {"position": 14})])
        return CreatedConnector(created=created, info=self.connector_info(name))

    def delete_connector(self, name: str) -> None:
        self.before("delete_connector")
        self._find(name)
        del self.stored[name]

    def restart_connector(self, name: str) -> None:
        self.before("restart_connector")
        self._find(name)

    def restart_task(self, task: ConnectorTaskId) -> None:
        self.before("restart_task")
        self._find(task.connector)
        if task.task != 0:
            raise NotFoundError(f"Unknown task: {task}")

    def active_topics(self, name: str) -> ActiveTopics:
        return ActiveTopics(name, [])

    def alter_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        self._find(name).offsets = list(offsets)
        return "The offsets for this connector have been altered successfully"

    def reset_offsets(self, name: str) -> str:
        self.before("offsets")
        self._find(name).offsets = []
        return "The offsets for this connector have been reset successfully"

    # --- for other workers

    def fence_zombies(self, name: str, request: InternalRequest | None) -> None:
        self._check(request)

    def put_task_configs(
        self, name: str, configs: Callable[[], Sequence[Mapping[str, str]]], request: InternalRequest | None
    ) -> None:
        self._check(request)
        configs()

    def _check(self, request: InternalRequest | None) -> None:
        self.internal_requests.append(request)
        if request is not None and "x-connect-authorization" not in request.headers:
            raise RequestRefusedError("Internal request missing required signature", 400)

    def loggers(self) -> Mapping[str, LoggerLevel]:
        return {"root": self.logger("root")}

    def logger(self, name: str) -> LoggerLevel:
        return LoggerLevel("INFO", None)
