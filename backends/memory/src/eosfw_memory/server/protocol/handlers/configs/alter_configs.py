"""AlterConfigs (33): replace all properties of topics and groups.

Behaviour
- A property that is not named gets its default. The new properties take effect at once and are stored.
- A group may have properties before it exists.
- The broker's own properties are set at its start; here they are refused, as Kafka refuses those that are not dynamic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.config_changes import alter_configs


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each resource."""
    return alter_configs(broker, request, context, _replaced)


def _replaced(before: Mapping[str, str], wanted: Any) -> dict[str, str]:  # noqa: ARG001
    for each in wanted:
        if each.value is None:
            raise KafkaError(Code.INVALID_REQUEST, f"Null value not supported for : {each.name}")
    return {each.name: each.value for each in wanted}
