"""FindCoordinator (10): say which broker coordinates a transactional id or a group.

Behaviour
- It is always this broker. An empty or null key, or a key type other than group and transaction, is InvalidRequest.

Version notes: key types from 1, many keys at once from 4.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import NODE_ID, Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer

_GROUP, _TRANSACTION = 0, 1
_BATCHED_VERSION = 4


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with this broker for every key."""
    key_type = getattr(request, "key_type", _GROUP)
    if context.version >= _BATCHED_VERSION:
        return {"coordinators": [_coordinator(broker, key_type, key) for key in request.coordinator_keys]}
    return _coordinator(broker, key_type, request.key)


def _coordinator(broker: Broker, key_type: int, key: str) -> Answer:
    if key_type not in (_GROUP, _TRANSACTION) or (key_type == _TRANSACTION and not key):
        return {
            "key": key,
            "node_id": -1,
            "host": "",
            "port": -1,
            "error_code": Code.INVALID_REQUEST,
            "error_message": f"no coordinator for key {key!r} of type {key_type}",
        }
    return {
        "key": key,
        "node_id": NODE_ID,
        "host": broker.endpoint.host,
        "port": broker.endpoint.port,
        "error_code": Code.NONE,
        "error_message": None,
    }
