"""ListConfigResources (74): name everything that may have properties (KIP-1142).

Behaviour
- Topics, the broker, its loggers, and those groups that have properties of their own; all of them if no type is named.
- A type that there is not is UnsupportedVersion.

Version notes: version 0 asks for subscriptions of client metrics, which are never there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE_CONFIGS

_TOPIC, _BROKER, _LOGGERS, _CLIENT_METRICS, _GROUP = 2, 4, 8, 16, 32
_TYPES: Final = (_GROUP, _CLIENT_METRICS, _LOGGERS, _BROKER, _TOPIC)


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with names and types."""
    if not allows(broker, context, CLUSTER_DESCRIBE_CONFIGS):
        return {"error_code": CLUSTER_DESCRIBE_CONFIGS.denied, "config_resources": ()}
    wanted = (_CLIENT_METRICS,) if context.version == 0 else tuple(request.resource_types) or _TYPES
    if not set(wanted) <= set(_TYPES):
        return {"error_code": Code.UNSUPPORTED_VERSION, "config_resources": ()}
    found = [
        {"resource_name": name, "resource_type": kind}
        for kind in _TYPES
        if kind in wanted
        for name in _names(broker, kind)
    ]
    return {"error_code": Code.NONE, "config_resources": found}


def _names(broker: Broker, kind: int) -> Iterable[str]:
    if kind == _GROUP:
        return broker.groups.configs.groups()
    if kind == _TOPIC:
        return (topic.name for topic in broker.topics)
    return () if kind == _CLIENT_METRICS else (str(NODE_ID),)
