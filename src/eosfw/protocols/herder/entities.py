"""The values that a herder takes and returns (Kafka Connect's `rest.entities`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eosfw.ids import ConnectorTaskId
from eosfw.protocols.steps import QueryProgress
from eosfw.records import SourceOffset, SourcePartition


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
