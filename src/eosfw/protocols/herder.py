"""What a worker of a group offers to its REST interface (Kafka Connect's `Herder` and its `rest.entities`).

A herder answers for its own worker. What only the leader may do raises NotLeaderError with the leader's URL in a worker
that follows; the REST interface forwards the request there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from eosfw.ids import ConnectorTaskId
from eosfw.protocols.steps import QueryProgress
from eosfw.records import SourceOffset, SourcePartition
from eosfw.state.tasks.metrics import Metric

__all__ = [
    "ActiveTopics",
    "ConfigInfo",
    "ConfigInfos",
    "ConnectorInfo",
    "ConnectorOffset",
    "ConnectorPluginInfo",
    "ConnectorState",
    "ConnectorStateInfo",
    "CreatedConnector",
    "GroupMember",
    "Herder",
    "InternalRequest",
    "LoggerLevel",
    "MovingTask",
    "OpenTransactionInfo",
    "ServerInfo",
    "StreamingQueryInfo",
    "TaskInfo",
    "TaskStateInfo",
    "TransactionPartition",
    "WorkerGroup",
    "WorkerGroupQueries",
    "WorkerHealth",
]


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Version of the worker and id of its Kafka cluster (Kafka Connect's `ServerInfo`)."""

    version: str
    commit: str
    kafka_cluster_id: str


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector with its properties, as they are stored, and its tasks."""

    name: str
    config: Mapping[str, str]
    tasks: Sequence[ConnectorTaskId]
    type: str = "source"


@dataclass(frozen=True, slots=True)
class CreatedConnector:
    """The outcome of writing a connector's properties."""

    created: bool
    """False if a connector of this name existed and was changed."""
    info: ConnectorInfo


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """The properties of one task, as they are stored: references to config providers stay references."""

    id: ConnectorTaskId
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The state of a connector by Connect's names, and the worker (HOST:PORT) that reported it."""

    state: str
    worker_id: str
    trace: str | None = None
    version: str | None = None
    """Of the connector's distribution, if the worker that reported it knows (KIP-891)."""


@dataclass(frozen=True, slots=True)
class TaskStateInfo:
    """The state of one task."""

    id: int
    state: str
    worker_id: str
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStateInfo:
    """The state of a connector and of its tasks, from the status topic (Kafka Connect's `ConnectorStateInfo`)."""

    name: str
    connector: ConnectorState
    tasks: Sequence[TaskStateInfo]
    type: str = "source"


@dataclass(frozen=True, slots=True)
class ConnectorOffset:
    """The offset of one source partition; None deletes it (KIP-875)."""

    partition: SourcePartition
    offset: SourceOffset | None


@dataclass(frozen=True, slots=True)
class ActiveTopics:
    """The topics that a connector has written to since it was created or they were reset (KIP-558)."""

    connector: str
    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class ConnectorPluginInfo:
    """An installed connector, converter, transform or predicate (Kafka Connect's `PluginInfo`)."""

    class_name: str
    type: str
    version: str


@dataclass(frozen=True, slots=True)
class ConfigInfo:
    """One property with its definition, its value and what is wrong with it (Kafka Connect's `ConfigInfo`)."""

    definition: Mapping[str, Any] | None
    """Connect's `ConfigKeyInfo`: name, type, required, default_value, importance, documentation, group, ..."""
    value: Mapping[str, Any]
    """Connect's `ConfigValueInfo`: name, value, recommended_values, errors, visible."""


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """The outcome of a validation (Kafka Connect's `ConfigInfos`)."""

    name: str
    error_count: int
    groups: Sequence[str]
    configs: Sequence[ConfigInfo]


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """The level of a logger; `last_modified` in milliseconds since the epoch, None if it was never set."""

    level: str
    last_modified: int | None = None


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """Whether the worker can serve requests (Kafka Connect's `WorkerStatus`, KIP-1017)."""

    status: str
    """`healthy`, `starting` or `unhealthy`."""
    message: str


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A worker of the group and what it runs (Kafka Connect's `ConnectProtocol.WorkerState`)."""

    worker: str
    """Its name, another one after each start."""
    url: str | None
    """Of its REST interface."""
    tasks: Sequence[ConnectorTaskId]
    support: str
    """Its `exactly.once.source.support`."""
    version: str


@dataclass(frozen=True, slots=True)
class MovingTask:
    """A task that nobody runs at the moment (KIP-415)."""

    id: ConnectorTaskId
    worker: str
    """The worker that has still to stop it, or that is gone."""
    gone: bool
    """Whether that worker is gone, and may come back to its task."""
    until: int
    """When another worker gets it at the latest, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """The group by its newest assignment, as far as this worker has read."""

    group_id: str
    generation: int
    """Counts the assignments."""
    leader: str | None
    """The name of the worker that leads; None while nobody does."""
    protocol: str | None
    """`connect.protocol` of the leader; None for a run, whose worker is alone."""
    rebalancing: bool
    """Whether tasks are about to move, or this worker is not in the group."""
    members: Sequence[GroupMember]
    moving: Sequence[MovingTask]
    notice: str | None = None
    """What to know of the group, such as workers whose `exactly.once.source.support` differ in a rolling upgrade."""


@dataclass(frozen=True, slots=True)
class TransactionPartition:
    """A partition in which a transaction is open."""

    topic: str
    partition: int
    start_offset: int | None
    """Readers of what is committed stop here at the latest; None if nothing was written yet."""


@dataclass(frozen=True, slots=True)
class OpenTransactionInfo:
    """A transaction that is open in the cluster."""

    transactional_id: str | None
    """None for one of a producer that no coordinator knows."""
    state: str
    """Kafka's `TransactionState`; `Hanging` if no coordinator will end it (KIP-664)."""
    producer_id: int
    producer_epoch: int
    started: int | None
    """Milliseconds since the epoch; for one that hangs, when it was written to last."""
    timeout_ms: int | None
    """How long after `started` the coordinator aborts it; None for one that hangs."""
    partitions: Sequence[TransactionPartition]


@dataclass(frozen=True, slots=True)
class StreamingQueryInfo:
    """A streaming step of a pipeline, which runs beside the connectors that feed it."""

    step: str
    topics: Sequence[str]
    """What it reads."""
    output: str
    """Where it writes, for people."""
    output_topic: str | None
    """The topic that it writes, in transactions; None for another kind of output."""
    progress: QueryProgress | None
    """None before its query was started: it waits for its topics, or its engine."""


@dataclass(frozen=True, slots=True)
class InternalRequest:
    """A request of another worker, as it was received: what a signature is checked against (KIP-507)."""

    method: str
    path: str
    """The path with its query, as it was sent."""
    body: bytes
    headers: Mapping[str, str]
    """By names in lower case."""


class WorkerGroupQueries(Protocol):
    """What can be asked of a worker group without changing it: all that a console shows; thread-safe.

    Calls block at most 90 s, then RequestTimeoutError. Unknown connectors are NotFoundError.
    """

    def metrics(self) -> Sequence[Metric]:
        """What this worker and its tasks have measured, by Kafka Connect's names."""

    def group(self) -> WorkerGroup:
        """The workers of the group and the tasks that each runs."""

    def open_transactions(self) -> Sequence[OpenTransactionInfo]:
        """The open transactions of the cluster, oldest first; those that hang are looked for in the group's topics.

        Asks the cluster. UnsupportedError if the client lacks the capability `describe_transactions`.
        """

    def streaming_queries(self) -> Sequence[StreamingQueryInfo]:
        """The streaming steps of the pipeline that this worker runs; a group runs none."""

    def connectors(self) -> Sequence[str]:
        """The names of all connectors of the group."""

    def connector_info(self, name: str) -> ConnectorInfo:
        """Properties and tasks of a connector."""

    def connector_status(self, name: str) -> ConnectorStateInfo:
        """The state of a connector and its tasks, whichever workers run them."""

    def connector_statuses(self) -> Mapping[str, ConnectorStateInfo]:
        """The states of all connectors that have reported one."""

    def active_topics(self, name: str) -> ActiveTopics:
        """The topics that the connector has written to."""

    def connector_offsets(self, name: str) -> Sequence[ConnectorOffset]:
        """The committed source offsets of a connector."""

    def plugin_config(self, plugin: str) -> Sequence[Mapping[str, Any]]:
        """The definitions of a plugin's properties (Connect's `ConfigKeyInfo`)."""

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        """Validate properties of a connector; changes nothing."""


class Herder(WorkerGroupQueries, Protocol):
    """Answers the requests of the REST interface; thread-safe. Calls block at most 90 s, then RequestTimeoutError.

    Unknown connectors and tasks are NotFoundError. A change that a rebalance prevents is RebalanceNeededError: repeat
    it. ConfigError and BadRequestError say what is wrong with the input.
    """

    # --- the worker

    def server_info(self) -> ServerInfo:
        """Version and cluster id."""

    def health(self) -> WorkerHealth:
        """Whether the worker has joined its group and reads its topics."""

    def leader_url(self) -> str | None:
        """The URL of the group's leader; None while nobody leads."""

    # --- connectors

    def put_connector(
        self, name: str, config: Mapping[str, str | None], *, initial_state: str | None = None, replace: bool = True
    ) -> CreatedConnector:
        """Create a connector, or replace its properties; `replace=False` raises AlreadyExistsError if it exists.

        `initial_state` is RUNNING, PAUSED or STOPPED, for a connector that is created.
        """

    def patch_connector(self, name: str, changes: Mapping[str, str | None]) -> CreatedConnector:
        """Change some properties; None removes one (KIP-477)."""

    def delete_connector(self, name: str) -> None:
        """Delete a connector and stop its tasks; its offsets and its task count record stay."""

    def pause_connector(self, name: str) -> None:
        """Ask the group to pause a connector; its tasks stay assigned."""

    def resume_connector(self, name: str) -> None:
        """Ask the group to run a paused or stopped connector."""

    def stop_connector(self, name: str) -> None:
        """Ask the group to stop a connector: its tasks end and their configurations are deleted (KIP-875)."""

    def restart_connector(self, name: str) -> None:
        """Restart the connector without its tasks."""

    def restart_connector_and_tasks(self, name: str, *, only_failed: bool, include_tasks: bool) -> ConnectorStateInfo:
        """Restart a connector and tasks of it, on every worker that runs some; return the plan (KIP-745)."""

    def reset_active_topics(self, name: str) -> None:
        """Forget the topics that the connector has written to."""

    # --- tasks

    def task_infos(self, name: str) -> Sequence[TaskInfo]:
        """The stored properties of a connector's tasks."""

    def task_status(self, task: ConnectorTaskId) -> TaskStateInfo:
        """The state of a task."""

    def restart_task(self, task: ConnectorTaskId) -> None:
        """Restart a task; NotAssignedError with the owner's URL if another worker runs it."""

    # --- offsets

    def alter_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        """Change offsets of a stopped connector, all or none; return the message for the user (KIP-875)."""

    def reset_offsets(self, name: str) -> str:
        """Delete all offsets of a stopped connector; return the message for the user."""

    # --- plugins and loggers

    def plugins(self, *, connectors_only: bool) -> Sequence[ConnectorPluginInfo]:
        """The installed plugins."""

    def loggers(self) -> Mapping[str, LoggerLevel]:
        """The loggers of this worker whose level is set."""

    def logger(self, name: str) -> LoggerLevel:
        """The level of one logger."""

    def set_logger_level(self, name: str, level: str, *, cluster: bool = False) -> Sequence[str]:
        """Set the level of a logger and those below it; return their names. With `cluster`, in every worker."""

    # --- for other workers of the group (KIP-507, KIP-618)

    def fence_zombies(self, name: str, request: InternalRequest | None) -> None:
        """Fence earlier producers of a connector's tasks, in the leader; `request` None is a call of this worker."""

    def put_task_configs(
        self, name: str, configs: Callable[[], Sequence[Mapping[str, str]]], request: InternalRequest | None
    ) -> None:
        """Write task configurations, in the leader; `configs` reads them once the request is known to be signed."""
