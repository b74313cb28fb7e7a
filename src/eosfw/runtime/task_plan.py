"""Describe a task before it starts: what it is, what it stands on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.connectors import SourceTask
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import Backend, OffsetStore
from eosfw.runtime.config_topic import ConfigTopic
from eosfw.runtime.membership import Membership
from eosfw.state.boundary import Boundary
from eosfw.state.steps import StepEvent

Announce = Callable[[StepEvent], None]
FenceZombies = Callable[[str, int], None]
"""Ask the leader to shut out earlier producers of a connector before this generation starts; raises if it cannot."""


@dataclass(frozen=True, slots=True)
class OffsetsTopic:
    """Where source offsets lie, and what the topic is created with."""

    name: str
    partitions: int = 25
    replication_factor: int = 1


@dataclass(frozen=True, slots=True)
class ClientProperties:
    """Kafka's properties of one task's clients, settled (CFG-07, CFG-08)."""

    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    admin: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task of one generation."""

    id: ConnectorTaskId
    generation: int
    task_factory: Callable[[], SourceTask]
    config: Config
    boundary: Callable[[], Boundary]
    offsets_topic: OffsetsTopic
    store: OffsetStore
    """The task's own."""
    transactional_id: str | None
    """None: at least once, without transactions (`exactly.once.source.support` is not `enabled`)."""
    transaction_timeout: float = 60.0
    """Also the deadline of every call that ends a transaction: later the broker has aborted it."""
    identity_headers: bool = False
    identity_named: bool = True
    """Whether somebody asked for those headers; if not, a batch that cannot tell its records apart goes without."""
    record_topics: tuple[int, int] = (1, -1)
    """Partitions, replication factor of topics created for records."""
    clients: ClientProperties = field(default_factory=ClientProperties)

    @property
    def exactly_once(self) -> bool:
        """Whether records and offsets commit in one transaction."""
        return self.transactional_id is not None


@dataclass(frozen=True, slots=True)
class WorkerServices:
    """What every task of a worker stands on."""

    backend: Backend
    config_topic: ConfigTopic
    membership: Membership
    fence_zombies: FenceZombies
    announce: Announce
    runtime: Runtime
