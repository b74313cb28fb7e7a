"""What can be asked of a worker of a group, and what it can be told to do (Kafka Connect's `Herder`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from eosfw.ids import ConnectorTaskId
from eosfw.protocols.herder.entities import (
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
from eosfw.state.tasks.metrics import Metric


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
