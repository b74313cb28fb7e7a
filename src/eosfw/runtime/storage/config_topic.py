"""The config topic as this process has read it (Kafka Connect's `ConfigBackingStore`, its reading half)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from eosfw.concurrency import Runtime
from eosfw.config import Config, clients
from eosfw.config.clients import ClientSettings
from eosfw.protocols import Backend, IsolationLevel
from eosfw.records import Headers
from eosfw.runtime.storage.kafka_based_log import KafkaBasedLog, LogSource
from eosfw.state.storage.config_log import ConfigLog, ConnectorChanges, ConnectorEntry
from eosfw.state.storage.config_records import WRITER
from eosfw.state.storage.group_requests import GroupRequests
from eosfw.state.storage.session_key import SessionKeys

logger = logging.getLogger(__name__)


class ConfigTopic(KafkaBasedLog):
    """The state of all connectors by the config topic; thread-safe (Kafka Connect's `KafkaConfigBackingStore`).

    A process has one such state, because generations are counted, not stored: two readers that began before and after
    a compaction may number them differently.
    """

    def __init__(
        self,
        backend: Backend,
        topic: str,
        isolation: IsolationLevel,
        runtime: Runtime,
        *,
        properties: Mapping[str, str] | None = None,
        group_id: str = "",
    ) -> None:
        source = LogSource(topic=topic, isolation=isolation, properties=properties, group_id=group_id)
        super().__init__(backend, source, runtime)
        self._log = ConfigLog()
        self._existing: dict[str, ConnectorEntry] = {}
        """The connectors that are not deleted, by `_version` of the log."""
        self._version = 0

    def _apply(self, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> str | None:
        writer = next((mark for name, mark in headers if name == WRITER and mark is not None), None)
        return self._log.apply(offset, key, value, writer.decode(errors="replace") if writer else None)

    def entry(self, connector: str) -> ConnectorEntry:
        """The state of a connector as of the last read."""
        with self._lock:
            return self._log.entry(connector)

    @property
    def session_keys(self) -> SessionKeys:
        """The session keys as of the last read."""
        with self._lock:
            return self._log.session_keys

    def connectors(self) -> Mapping[str, ConnectorEntry]:
        """The state of every connector that exists, as of the last read."""
        with self._lock:
            changes = self._log.changes_since(self._version)
            self._version = changes.version
            for name in changes.names:
                entry = self._log.entry(name)
                if entry.properties is None:
                    self._existing.pop(name, None)
                else:
                    self._existing[name] = entry
            return dict(self._existing)

    def changes_since(self, version: int) -> ConnectorChanges:
        """The connectors that have changed since a version, as of the last read; 0 for all of them."""
        with self._lock:
            return self._log.changes_since(version)

    def requests_since(self, position: int) -> tuple[GroupRequests, int]:
        """What was asked of every worker at that offset or later, as of the last read, and the offset to go on at."""
        with self._lock:
            return self._log.requests.since(position), self._position


def open_config_topic(config: Config, backend: Backend, runtime: Runtime) -> ConfigTopic:
    """The config topic, read at the isolation level that the worker's properties need (LDR-05)."""
    committed = clients.exactly_once(config)
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    consumer = clients.config_consumer(config)
    log_warnings(consumer)
    return ConfigTopic(
        backend,
        config["config.storage.topic"],
        isolation,
        runtime,
        properties=consumer.properties,
        group_id=config["group.id"],
    )


def log_warnings(*settings: ClientSettings) -> None:
    """Log which properties of a user were replaced (CFG-07)."""
    for warning in (text for one in settings for text in one.warnings):
        logger.warning(warning)
