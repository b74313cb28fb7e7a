"""What a task is, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eosfw.config import Config
from eosfw.config.connector.error_handling import ErrorHandlingConfig
from eosfw.config.connector.topic_creation import TopicCreationGroup
from eosfw.connectors import SourceTask
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import OffsetStore
from eosfw.registry.record_parts import RecordParts
from eosfw.runtime.storage.connector_offset_backing_store import OffsetTopics
from eosfw.state.tasks.boundary import Boundary


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """Kafka's properties of one task's clients, after overrides and enforced values (CFG-07, CFG-08)."""

    producer: Mapping[str, str] = field(default_factory=dict, repr=False)
    consumer: Mapping[str, str] = field(default_factory=dict, repr=False)
    admin: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class AssignedTask:
    """One task of one generation that belongs to this worker; its configuration is in the config topic."""

    id: ConnectorTaskId
    generation: int
    transactional_id: str | None
    """None if the task writes at least once, without transactions (`exactly.once.source.support` is not `enabled`)."""

    @property
    def exactly_once(self) -> bool:
        """Whether records and offsets commit in one transaction."""
        return self.transactional_id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """How a task runs, as the config topic says when it starts (the `TaskConfig` of Kafka Connect, and its clients)."""

    task: AssignedTask
    task_factory: Callable[[], SourceTask]
    config: Config
    boundary: Callable[[], Boundary]
    commit_overlap: bool
    """Whether a commit goes on beside the next poll."""
    offset_topics: OffsetTopics
    store: OffsetStore
    """An instance for this task alone."""
    transaction_timeout: float
    """In seconds; also the deadline of calls that end a transaction, since the broker aborts it afterwards."""
    offset_flush_timeout: float
    """In seconds; for a flush without exactly-once."""
    identity_headers: bool
    identity_named: bool
    """Whether a property asks for these headers; if not, a batch without record offsets is sent without them."""
    topic_groups: Sequence[TopicCreationGroup]
    """By which topics are created for records; empty if that is left to the brokers."""
    clients: ClientProperties
    record_parts: RecordParts | None = None
    """What changes records on their way, for this task alone; None if nothing does."""
    error_handling: ErrorHandlingConfig = field(default_factory=ErrorHandlingConfig)

    @property
    def id(self) -> ConnectorTaskId:
        """Which task it is."""
        return self.task.id

    @property
    def exactly_once(self) -> bool:
        """Whether records and offsets commit in one transaction."""
        return self.task.exactly_once
