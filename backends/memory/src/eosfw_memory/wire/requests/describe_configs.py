"""DescribeConfigs (32): show the properties of topics or of the broker.

Behaviour
- Topics: all of Kafka's topic properties, those that were set marked as such. Broker 1 (or the cluster-wide default
  ""): the properties the embedded broker knows, among them `transaction.max.timeout.ms`.
- Loggers of the broker, subscriptions of client metrics, and groups have no properties here.

Version notes: types and documentation from 3, documentation is empty; synonyms are never listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from eosfw.config.definition import Boolean, Int, Key, List, Long
from eosfw_memory.broker import NODE_ID, Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer
from eosfw_memory.topic_config import TOPIC, Ratio, check_name, in_force

_TOPIC, _BROKER, _LOGGERS, _CLIENT_METRICS, _GROUP = 2, 4, 8, 16, 32
_DYNAMIC_TOPIC_CONFIG, _STATIC_BROKER_CONFIG, _DEFAULT_CONFIG = 1, 4, 5
_STRING: Final = 2
_TYPES: Final[Mapping[type[Key], int]] = {Boolean: 1, Int: 3, Long: 5, Ratio: 6, List: 7}
_NAMELESS: Final = {
    _LOGGERS: "Broker id must not be empty",
    _CLIENT_METRICS: "Client metrics subscription name must not be empty",
    _GROUP: "Group name must not be empty",
}


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each resource."""
    return {"results": [_resource(broker, resource) for resource in request.resources]}


def _resource(broker: Broker, resource: Any) -> Answer:
    answer = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    try:
        entries = _entries(broker, resource.resource_type, resource.resource_name)
    except KafkaError as refused:
        return {**answer, "error_code": refused.code, "error_message": refused.message, "configs": ()}
    keys = resource.configuration_keys
    shown = [entry for entry in entries if keys is None or entry["name"] in keys]
    return {**answer, "error_code": Code.NONE, "error_message": None, "configs": shown}


def _entries(broker: Broker, kind: int, name: str) -> list[dict[str, object]]:
    if kind == _TOPIC:
        check_name(name)
        topic = broker.topics.by_name(name)
        if topic is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name!r} does not exist")
        return _listed(in_force(topic.config), topic.config, _DYNAMIC_TOPIC_CONFIG)
    if kind == _BROKER and name in ("", str(NODE_ID)):
        described = broker.settings.described()
        return _listed(described, described, _STATIC_BROKER_CONFIG)
    if kind in _NAMELESS and not name:
        raise KafkaError(Code.INVALID_REQUEST, _NAMELESS[kind])
    if kind in (_BROKER, _LOGGERS) and name != str(NODE_ID):
        raise KafkaError(Code.INVALID_REQUEST, f"Unexpected broker id, expected {NODE_ID} but received {name}")
    if kind in _NAMELESS:
        return []
    raise KafkaError(Code.INVALID_REQUEST, f"no resource {name!r} of type {kind} here")


def _listed(values: Mapping[str, str], given: Mapping[str, str], source: int) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "value": value,
            "read_only": source == _STATIC_BROKER_CONFIG,
            "config_source": source if name in given else _DEFAULT_CONFIG,
            "is_sensitive": False,
            "synonyms": (),
            "config_type": _type(name),
        }
        for name, value in values.items()
    ]


def _type(name: str) -> int:
    key = TOPIC.keys.get(name)
    return next((number for kind, number in _TYPES.items() if isinstance(key, kind)), _STRING)
