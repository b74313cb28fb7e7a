"""DescribeConfigs (32): show the properties of topics, of groups or of the broker.

Behaviour
- Topics: all of Kafka's topic properties, each with where it comes from: the topic, the broker's properties, Kafka's
  defaults. Broker 1 (or the cluster-wide default ""): the properties the embedded broker knows.
- Groups: those of consumer groups, also of a group that does not exist.
- Who names no property, be it by null or by an empty list, is shown all of them.
- Loggers of the broker and subscriptions of client metrics have no properties here.

Version notes: types and documentation from 3, documentation is empty; synonyms are never listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from eosfw.config import Boolean, Int, Key, List, Long
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import BROKER
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.coordinators.groups.group_config import GROUP
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE_CONFIGS, GROUP_DESCRIBE_CONFIGS, TOPIC_DESCRIBE_CONFIGS
from eosfw_memory.storage.log.topic_config import (
    DEFAULT_CONFIG,
    STATIC_BROKER_CONFIG,
    TOPIC,
    Ratio,
    check_name,
    in_force,
    source,
)

_TOPIC, _BROKER, _LOGGERS, _CLIENT_METRICS, _GROUP = 2, 4, 8, 16, 32
_STRING: Final = 2
_DYNAMIC_GROUP_CONFIG: Final = 8
_TYPES: Final[Mapping[type[Key], int]] = {Boolean: 1, Int: 3, Long: 5, Ratio: 6, List: 7}
_NAMELESS: Final = {
    _LOGGERS: "Broker id must not be empty",
    _CLIENT_METRICS: "Client metrics subscription name must not be empty",
    _GROUP: "Group name must not be empty",
}


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each resource."""
    return {"results": [_resource(broker, resource, context) for resource in request.resources]}


def _resource(broker: Broker, resource: Any, context: Context) -> Answer:
    answer = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    try:
        _check_right(broker, context, resource.resource_type, resource.resource_name)
        entries = _entries(broker, resource.resource_type, resource.resource_name)
    except KafkaError as refused:
        return {**answer, "error_code": refused.code, "error_message": refused.message, "configs": ()}
    keys = resource.configuration_keys
    shown = [entry for entry in entries if not keys or entry["name"] in keys]
    return {**answer, "error_code": Code.NONE, "configs": shown}


def _check_right(broker: Broker, context: Context, kind: int, name: str) -> None:
    if kind == _TOPIC:
        require(broker, context, TOPIC_DESCRIBE_CONFIGS, name)
    elif kind == _GROUP:
        require(broker, context, GROUP_DESCRIBE_CONFIGS, name)
    elif kind in (_BROKER, _LOGGERS, _CLIENT_METRICS):
        require(broker, context, CLUSTER_DESCRIBE_CONFIGS)


def _entries(broker: Broker, kind: int, name: str) -> list[dict[str, object]]:
    if kind == _TOPIC:
        check_name(name)
        topic = broker.topics.by_name(name)
        if topic is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name!r} does not exist")
        defaults = broker.topics.defaults
        values = in_force(topic.config, defaults)
        return [_entry(name, text, source(name, topic.config, defaults)) for name, text in values.items()]
    if kind == _BROKER and name in ("", str(NODE_ID)):
        given = broker.settings.given
        return [
            _entry(name, text, STATIC_BROKER_CONFIG if name in given else DEFAULT_CONFIG, read_only=True)
            for name, text in broker.settings.described().items()
        ]
    if kind in _NAMELESS and not name:
        raise KafkaError(Code.INVALID_REQUEST, _NAMELESS[kind])
    if kind in (_BROKER, _LOGGERS) and name != str(NODE_ID):
        raise KafkaError(Code.INVALID_REQUEST, f"Unexpected broker id, expected {NODE_ID} but received {name}")
    if kind == _GROUP:
        given = broker.groups.configs.given(name)
        return [
            _entry(key, text, _DYNAMIC_GROUP_CONFIG if key in given else DEFAULT_CONFIG)
            for key, text in broker.groups.configs.in_force(name).items()
        ]
    if kind in _NAMELESS:
        return []
    raise KafkaError(Code.INVALID_REQUEST, f"no resource {name!r} of type {kind} here")


def _entry(name: str, value: str | None, comes_from: int, *, read_only: bool = False) -> dict[str, object]:
    key = TOPIC.keys.get(name) or BROKER.keys.get(name) or GROUP.keys.get(name)
    return {
        "name": name,
        "value": value,
        "read_only": read_only,
        "config_source": comes_from,
        "is_sensitive": False,
        "synonyms": (),
        "config_type": next((number for kind, number in _TYPES.items() if isinstance(key, kind)), _STRING),
    }
