"""IncrementalAlterConfigs (44): change some of the properties of topics and groups (KIP-339).

Behaviour
- Each property is set, deleted (back to its default), or, if it is a list, appended to or subtracted from. What is not
  named stays. The new properties take effect at once and are stored.
- A group may have properties before it exists.
- The broker's own properties are set at its start; here they are refused, as Kafka refuses those that are not dynamic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw.config import List
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.config_changes import alter_configs
from eosfw_memory.storage.log.topic_config import TOPIC, in_force

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each resource."""
    return alter_configs(broker, request, context, _changed)


def _changed(before: Mapping[str, str], wanted: Any) -> dict[str, str]:
    config = dict(before)
    for each in wanted:
        if each.config_operation == _DELETE:
            config.pop(each.name, None)
        elif each.value is None:
            raise KafkaError(Code.INVALID_REQUEST, f"Null value not supported for : {each.name}")
        elif each.config_operation == _SET:
            config[each.name] = each.value
        else:
            config[each.name] = _list(before, each)
    return config


def _list(before: Mapping[str, str], wanted: Any) -> str:
    if wanted.config_operation not in (_APPEND, _SUBTRACT):
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR, f"operation {wanted.config_operation} on a property is unknown")
    append = wanted.config_operation == _APPEND
    key = TOPIC.keys.get(wanted.name)
    if not isinstance(key, List):
        what = "APPEND" if append else "SUBTRACT"
        raise KafkaError(Code.INVALID_CONFIG, f"Can't {what} to key {wanted.name} because its type is not LIST.")
    items = key.parse(in_force(before, {})[wanted.name])
    given = key.parse(wanted.value) or ("",)  # an item, which `cleanup.policy` may not have
    if append:
        return ",".join(dict.fromkeys((*items, *given)))
    return ",".join(item for item in items if item not in given)
