"""Requests that change connectors (the writing half of Kafka Connect's `DistributedHerder`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eosfw.config import clients
from eosfw.errors import AlreadyExistsError, BadRequestError, ConfigError, Problem
from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.protocols.herder import ConnectorInfo, CreatedConnector
from eosfw.runtime.checks.id_collision_check import refuse_shared_ids
from eosfw.runtime.distributed.config_infos import invalid_config_text
from eosfw.runtime.distributed.plugin_queries import PluginQueries
from eosfw.runtime.distributed.services import HerderServices
from eosfw.runtime.storage.config_writer import ConfigWriter
from eosfw.state.storage.config_log import ConnectorEntry
from eosfw.state.storage.config_records import (
    PAUSED,
    STARTED,
    STOPPED,
    ConfigRecord,
    connector_record,
    logger_level_record,
    target_state_record,
)

_INITIAL_STATES = {None: None, "RUNNING": STARTED, "PAUSED": PAUSED, "STOPPED": STOPPED}


class _OutdatedError(Exception):
    """The connector was changed or deleted while its patched properties were validated."""


class ConnectorRequests:
    """Creates, changes and deletes connectors; any thread."""

    def __init__(self, services: HerderServices, plugins: PluginQueries, writer: ConfigWriter) -> None:
        self._services, self._plugins = services, plugins
        self._unprivileged = writer
        """Writes what any worker may write: target states and levels of loggers (LDR-03)."""

    def put(
        self, name: str, config: Mapping[str, str | None], initial_state: str | None, *, replace: bool
    ) -> CreatedConnector:
        """Write a connector's properties, with its first target state in the same transaction (KIP-980)."""
        if initial_state not in _INITIAL_STATES:
            raise BadRequestError(f"initial_state is RUNNING, PAUSED or STOPPED, not {initial_state!r}")
        given = {"name": name, **config}
        self._validate(name, given)
        texts = {one: text for one, text in given.items() if text is not None}
        return self._write_connector(name, texts, _INITIAL_STATES[initial_state], replace=replace)

    def _validate(self, name: str, given: Mapping[str, str | None]) -> None:
        """Refuse properties that are not valid, and whatever else keeps them from being written."""
        infos = self._plugins.validate_connector(name, given)
        if infos.error_count:
            raise BadRequestError(invalid_config_text(infos))
        self._services.require_leader("Only the leader can set connector configs.")
        self._refuse_shared_ids(name)

    def patch(self, name: str, changes: Mapping[str, str | None]) -> CreatedConnector:
        """Change some properties of a connector; None removes one."""
        self._services.require_leader("Only the leader can set connector configs.")
        while True:
            before = self._services.connector(name).properties or {}
            patched = {one: text for one, text in {**before, **changes, "name": name}.items() if text is not None}
            self._validate(name, patched)
            try:
                return self._write_connector(name, patched, None, replace=True, patches=before)
            except _OutdatedError:  # other properties are to be patched now, or there is nothing to patch any more
                continue

    def _refuse_shared_ids(self, name: str) -> None:
        """Raise ConfigError if a connector of another group writes under the transactional id of the first task."""
        services = self._services
        if clients.exactly_once(services.config):
            first = task_transactional_id(services.config["group.id"], ConnectorTaskId(name, 0))
            refuse_shared_ids(services.worker_offsets.backend, services.config, f"connector {name}", [first])

    def _write_connector(
        self,
        name: str,
        config: Mapping[str, str],
        state: str | None,
        *,
        replace: bool,
        patches: Mapping[str, str] | None = None,
    ) -> CreatedConnector:
        """Write properties; `patches` are those before, if these were made of them."""
        records = [connector_record(name, config)]
        if state is not None:
            records.insert(0, target_state_record(name, state))
        seen: list[ConnectorEntry] = []

        def check() -> None:
            # Under the writer's lock: of two requests that create a connector the second one sees the first.
            entry = self._services.topic.entry(name)
            # Asked again, the leader has lost its privilege in the write: the connector may be the one that it wrote.
            own = bool(seen) and entry.properties == config
            if patches is not None and not own and entry.properties != patches:
                raise _OutdatedError
            if entry.properties is not None and not (replace or own):
                raise AlreadyExistsError(f"Connector {name} already exists")
            seen.append(entry)

        self._services.leader.write(records, check)
        self._services.wake()
        before = seen[0]
        tasks = [ConnectorTaskId(name, number) for number in range(len(before.tasks))]
        return CreatedConnector(before.properties is None, ConnectorInfo(name, dict(config), tasks))

    def delete(self, name: str) -> None:
        """Delete a connector; its offsets and its task count record stay."""
        self._services.require_leader("Only the leader can delete connector configs.")
        self._services.connector(name)
        self._services.leader.remove_connector(name)
        self._services.wake()

    def set_target_state(self, name: str, state: str) -> None:
        """Write the state that a connector shall be in; any worker may."""
        self._services.connector(name, "Unknown connector {}")
        self._write([target_state_record(name, state)])

    def stop(self, name: str) -> None:
        """Delete a connector's task configurations and write the target state (OFF-15)."""
        self._services.connector(name, "Unknown connector {}")
        self._services.require_leader("Only the leader can transition connectors to the STOPPED state.")
        # Asked again in the write: the state of a connector that was deleted since would be that of the next namesake.
        self._services.leader.stop_connector(name, lambda: self._services.connector(name, "Unknown connector {}"))
        self._services.wake()

    def put_task_configs(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Write task configurations that another worker has made."""
        self._services.require_leader("Only the leader may write task configurations.")
        if any(not isinstance(text, str) for config in configs for text in config.values()):
            raise ConfigError(Problem(f"connector {name}", "the properties of its tasks must be text"))

        def check() -> None:
            entry = self._services.connector(name)
            if configs and entry.target_state == STOPPED:
                raise BadRequestError(f"Cannot submit non-empty set of task configs for stopped connector {name}")

        self._services.leader.put_task_configs(name, configs, check)
        self._services.wake()

    def set_logger_level(self, namespace: str, level: str) -> None:
        """Ask every worker to set the level of a logger; any worker may."""
        self._write([logger_level_record(namespace, level)])

    def _write(self, records: Sequence[ConfigRecord]) -> None:
        self._unprivileged.write_unprivileged(records)
        self._services.wake()
