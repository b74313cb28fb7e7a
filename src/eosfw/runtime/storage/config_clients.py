"""The clients of a worker's config topic, made from its properties (part of Kafka Connect's `Worker`)."""

from __future__ import annotations

import logging

from eosfw.concurrency import Runtime
from eosfw.config import Config, clients
from eosfw.config.clients import ClientSettings
from eosfw.config.worker import SUPPORT
from eosfw.ids import leader_transactional_id
from eosfw.protocols import Backend, IsolationLevel
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.config_writer import ConfigWriter

logger = logging.getLogger(__name__)


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


def leaders_writer(config: Config, backend: Backend, topic: ConfigTopic, runtime: Runtime, worker: str) -> ConfigWriter:
    """The writer of the group's leader, which needs the privilege to write unless exactly-once is disabled (LDR-01)."""
    group = None if config[SUPPORT] == "disabled" else config["group.id"]
    producer = clients.leader_producer(config, leader_transactional_id(config["group.id"]))
    if group is not None:
        log_warnings(producer)
    return ConfigWriter(backend, topic, runtime, group_id=group, worker=worker, settings=producer)


def unprivileged_writer(
    config: Config, backend: Backend, topic: ConfigTopic, runtime: Runtime, worker: str
) -> ConfigWriter:
    """A writer of what any worker may write: target states and levels of loggers (LDR-03)."""
    settings = clients.plain_producer(config)
    return ConfigWriter(backend, topic, runtime, group_id=None, worker=worker, settings=settings)


def log_warnings(*settings: ClientSettings) -> None:
    """Log which properties of a user were replaced (CFG-07)."""
    for warning in (text for one in settings for text in one.warnings):
        logger.warning(warning)
