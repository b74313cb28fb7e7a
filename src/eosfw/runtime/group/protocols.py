"""What tasks and members ask of the other parts of their worker, each by one narrow protocol."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from eosfw.ids import ConnectorTaskId
from eosfw.state.storage.config_log import ConnectorChanges, ConnectorEntry


@dataclass(frozen=True, slots=True)
class Assignment:
    """Tasks of one generation of a connector that belong to this worker (Kafka Connect's `ExtendedAssignment`)."""

    connector: str
    generation: int
    tasks: Sequence[int]


class FencingLeader(Protocol):
    """What tasks ask of their group's leader; called by any thread."""

    def fence_zombies(self, connector: str, generation: int) -> None:
        """Return once no earlier producer of the connector can commit; raise if one may, or for an old generation.

        After a RetriableError the task asks again, with growing pauses, as long as the generation is its own; other
        errors fail it.

        Kafka Connect's `Herder.fenceZombieSourceTasks`: a worker that does not lead asks the leader for it.
        """


class TaskOwner(Protocol):
    """What tasks ask of their worker's place in the group; called by any thread."""

    def is_assigned(self, task: ConnectorTaskId, generation: int) -> bool:
        """Whether the task, in this generation of its connector, belongs to this worker now."""


class ConnectorConfigs(Protocol):
    """What the config topic says of connectors, as of the last read (Kafka Connect's `ClusterConfigState`)."""

    def entry(self, connector: str) -> ConnectorEntry:
        """The state of a connector; one without properties is deleted, or was never created."""

    def changes_since(self, version: int) -> ConnectorChanges:
        """The connectors that have changed since a version; 0 for all of them."""


class TaskRunner(Protocol):
    """Runs what a group assigns to this worker (the tasks of Kafka Connect's `Worker`)."""

    def start_generation(self, assignment: Assignment) -> None:
        """Start tasks of a generation, from the configurations that the config topic has for it; do not wait.

        Tasks of the same generation that run already go on beside them.
        """

    def stop_tasks(self, tasks: Collection[ConnectorTaskId]) -> None:
        """Stop tasks of any connectors, in parallel; those that do not stop in time are left behind as zombies."""

    def stop_at_once(self) -> None:
        """Ask every task to stop, and wait for nothing: this worker owns none any more. From any thread."""
