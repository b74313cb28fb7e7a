"""The properties of every source connector (Kafka Connect's `SourceConnectorConfig`)."""

from eosfw.config.connector.source_connector import (
    BOUNDARY,
    COMMIT_OVERLAP,
    CONNECTOR_VERSION,
    IDENTITY,
    INTERVAL,
    OFFSETS_TOPIC,
    OVERRIDE_PREFIXES,
    RELOAD_ACTION,
    REQUIREMENT,
    SERVERS,
    SOURCE_CONNECTOR,
    TASKS_MAX,
    TASKS_MAX_ENFORCE,
)

__all__ = [
    "BOUNDARY",
    "COMMIT_OVERLAP",
    "CONNECTOR_VERSION",
    "IDENTITY",
    "INTERVAL",
    "OFFSETS_TOPIC",
    "OVERRIDE_PREFIXES",
    "RELOAD_ACTION",
    "REQUIREMENT",
    "SERVERS",
    "SOURCE_CONNECTOR",
    "TASKS_MAX",
    "TASKS_MAX_ENFORCE",
]
