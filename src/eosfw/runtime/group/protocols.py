"""The three parts of a worker, each known to the others by one narrow protocol.

The herder decides for the whole group and writes the config topic. The member knows which tasks belong to this worker.
The runner runs them, from what the config topic says. A member of a group of many processes, elected and assigned to by
the group coordinator, implements `WorkerGroupMember` differently; herder and runner stay as they are.
"""

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


class WorkerGroupMember(TaskOwner, Protocol):
    """A worker's place in its group (Kafka Connect's `WorkerGroupMember`); thread-safe."""

    def join(self, runner: TaskRunner) -> None:
        """Join the group; from now on tell the runner which tasks to start and to stop."""

    def leave(self) -> None:
        """Leave the group: nothing is assigned to this worker any more."""

    def on_new_generation(self, assignment: Assignment) -> None:
        """Called after the herder committed a generation; `assignment` holds all of its tasks.

        A group shares them out among its members, as Kafka Connect does in the rebalance that follows.
        """

    def on_removal(self, connector: str) -> None:
        """Called after the herder deleted a connector."""

    @property
    def generation(self) -> int:
        """Counts the rebalances of the group; workers report states of tasks with it (Connect's `generation`)."""

    def leads(self) -> bool:
        """Whether this worker leads the group, as far as it knows."""

    def leader_name(self) -> str | None:
        """The name of the leader's worker, another one after each start; None if nobody leads."""

    def leader_url(self) -> str | None:
        """The URL of the leader's REST interface; None if nobody leads or the leader has none."""

    def owner_url(self, task: ConnectorTaskId) -> str | None:
        """The URL of the REST interface of the worker that runs a task; None if nobody does."""

    def workers(self) -> Collection[str]:
        """The names of the workers that take part in the newest assignment, this one among them."""

    def is_own(self, task: ConnectorTaskId) -> bool:
        """Whether the task is assigned to this worker, as far as it knows; asks nobody."""

    def has_joined(self) -> bool:
        """Whether the newest assignment counts this worker in, as far as it knows."""

    def rebalance_expected(self) -> bool:
        """Whether tasks are about to move, so that what is known of owners may be outdated."""

    def on_config_update(self, configs: ConnectorConfigs) -> None:
        """Called after the config topic was read to its end, again and again."""


class TaskRunner(Protocol):
    """Runs what is assigned to this worker (the tasks of Kafka Connect's `Worker`)."""

    def start_generation(self, assignment: Assignment, *, paused: bool = False) -> None:
        """Start tasks of a generation, from the configurations that the config topic has for it; do not wait.

        Tasks of the same generation that run go on beside them.

        A task that starts paused asks for no fencing and initialises no producer until it is resumed.
        Tasks of the same generation that run already go on beside them.
        """

    def stop_tasks(self, tasks: Collection[ConnectorTaskId]) -> None:
        """Stop tasks of any connectors, in parallel; those that do not stop in time are left behind as zombies."""

    def stop_at_once(self) -> None:
        """Ask every task to stop, and wait for nothing: this worker owns none any more. From any thread."""

    def stop_generation(self, connector: str) -> None:
        """Stop a connector's tasks; those that do not stop in time are left behind and reported as zombies."""

    def pause(self, connector: str) -> None:
        """Ask the connector's tasks of this worker to pause; do not wait, a task reports PAUSED once it has.

        A task finishes its batch, commits its open transaction and polls no more. With connector boundaries it commits
        only what the connector asked for: otherwise it aborts, and starts over from its committed offsets when it is
        resumed. Pausing what is paused, or a connector without tasks here, does nothing.
        """

    def resume(self, connector: str) -> None:
        """Ask the connector's tasks of this worker to go on; a transaction interval begins anew. Else as `pause`."""
