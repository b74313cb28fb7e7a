"""Change the properties of topics and groups for AlterConfigs and IncrementalAlterConfigs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.coordinators.groups.group_config import check_group_config
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.rights import CLUSTER_ALTER_CONFIGS, GROUP_ALTER_CONFIGS, TOPIC_ALTER_CONFIGS
from eosfw_memory.storage.log.topic_config import check_name, check_wanted
from eosfw_memory.storage.topics.topic import Topic

TOPIC: Final = 2
BROKER: Final = 4
LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32

Change: TypeAlias = Callable[[Mapping[str, str], Any], dict[str, str]]
"""Computes new properties from those of before and those of a request; raises KafkaError."""


def alter_configs(broker: Broker, request: Any, context: Context, change: Change) -> Answer:
    """Change each resource by itself; a refusal of one does not affect the others."""
    times = Counter((each.resource_type, each.resource_name) for each in request.resources)

    def answer(resource: Any) -> Answer:
        kind, name = resource.resource_type, resource.resource_name
        code, message = Code.NONE, None
        try:
            _check_once(times[kind, name], resource.configs)
            _check_right(broker, context, kind, name)
            _alter(broker, resource, change, request.validate_only)
        except KafkaError as refused:
            code, message = refused.code, refused.message
        return {"error_code": code, "error_message": message, "resource_type": kind, "resource_name": name}

    return {"responses": [answer(each) for each in request.resources]}


def existing_topic(broker: Broker, name: str) -> Topic:
    """A topic by its name; raises InvalidTopic, or UnknownTopicOrPartition."""
    check_name(name)
    topic = broker.topics.by_name(name)
    if topic is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return topic


def _alter(broker: Broker, resource: Any, change: Change, validate_only: bool) -> None:  # noqa: FBT001
    if resource.resource_type == GROUP:
        _alter_group(broker, resource, change, validate_only)
        return
    topic = _topic(broker, resource.resource_type, resource.resource_name, resource.configs)
    config = change(topic.config, resource.configs)
    check_wanted(config)
    if not validate_only:
        broker.topics.alter(topic, config)


def _alter_group(broker: Broker, resource: Any, change: Change, validate_only: bool) -> None:  # noqa: FBT001
    """A group need not exist."""
    if not resource.resource_name:
        raise KafkaError(Code.INVALID_REQUEST, "Default group resources are not allowed.")
    config = change(broker.groups.configs.given(resource.resource_name), resource.configs)
    check_group_config(config, broker.settings.groups)
    if not validate_only:
        broker.group_configs.alter(resource.resource_name, config)


def _check_right(broker: Broker, context: Context, kind: int, name: str) -> None:
    if kind == TOPIC:
        require(broker, context, TOPIC_ALTER_CONFIGS, name)
    elif kind == GROUP:
        require(broker, context, GROUP_ALTER_CONFIGS, name)
    elif kind in (BROKER, LOGGER, CLIENT_METRICS):
        require(broker, context, CLUSTER_ALTER_CONFIGS)


def _check_once(times: int, configs: Any) -> None:
    if times > 1:
        raise KafkaError(Code.INVALID_REQUEST, "Each resource must appear at most once.")
    if len({each.name for each in configs}) < len(configs):
        raise KafkaError(Code.INVALID_REQUEST, "Error due to duplicate config keys")


def _topic(broker: Broker, kind: int, name: str, configs: Any) -> Topic:
    if kind == TOPIC and not name:
        raise KafkaError(Code.INVALID_REQUEST, "Default topic resources are not allowed.")
    if kind == TOPIC:
        return existing_topic(broker, name)
    names = ", ".join(each.name for each in configs)
    if kind == BROKER and name in ("", str(NODE_ID)):
        raise KafkaError(Code.INVALID_REQUEST, f"Cannot update these configs dynamically: Set({names})")
    if kind == BROKER:
        raise KafkaError(Code.INVALID_REQUEST, f"Unexpected broker id, expected {NODE_ID}, but received {name}")
    if kind == LOGGER:
        raise KafkaError(Code.INVALID_CONFIG, f"Logger {names} does not exist!")
    raise KafkaError(Code.INVALID_REQUEST, f"Unknown resource type {kind}")
