"""DescribeConfigs (32): show the properties of topics or of the broker.

Behaviour
- Topics: all of Kafka's topic properties, those set on creation marked as such. Broker 1 (or the cluster-wide default
  ""): the properties the embedded broker knows, among them `transaction.max.timeout.ms`.

Version notes: documentation from 3; synonyms are never listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw_memory.broker import NODE_ID, Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer
from eosfw_memory.topic_config import in_force

_TOPIC, _BROKER = 2, 4
_DYNAMIC_TOPIC_CONFIG, _STATIC_BROKER_CONFIG, _DEFAULT_CONFIG = 1, 4, 5


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each resource."""
    return {"results": [_resource(broker, resource) for resource in request.resources]}


def _resource(broker: Broker, resource: Any) -> Answer:
    answer = {"resource_type": resource.resource_type, "resource_name": resource.resource_name}
    try:
        entries = _entries(broker, resource)
    except KafkaError as refused:
        return {**answer, "error_code": refused.code, "error_message": refused.message, "configs": ()}
    keys = resource.configuration_keys
    shown = [entry for entry in entries if keys is None or entry["name"] in keys]
    return {**answer, "error_code": Code.NONE, "error_message": None, "configs": shown}


def _entries(broker: Broker, resource: Any) -> list[dict[str, object]]:
    if resource.resource_type == _TOPIC:
        topic = broker.topics.by_name(resource.resource_name)
        if topic is None:
            raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {resource.resource_name!r} does not exist")
        return _listed(in_force(topic.config), topic.config, _DYNAMIC_TOPIC_CONFIG)
    if resource.resource_type == _BROKER and resource.resource_name in ("", str(NODE_ID)):
        described = broker.settings.described()
        return _listed(described, described, _STATIC_BROKER_CONFIG)
    raise KafkaError(
        Code.INVALID_REQUEST, f"no resource {resource.resource_name!r} of type {resource.resource_type} here"
    )


def _listed(values: Mapping[str, str], given: Mapping[str, str], source: int) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "value": value,
            "read_only": source == _STATIC_BROKER_CONFIG,
            "config_source": source if name in given else _DEFAULT_CONFIG,
            "is_sensitive": False,
            "synonyms": (),
        }
        for name, value in values.items()
    ]
