"""FindCoordinator (10): name the broker that coordinates a transactional id or a group.

Behaviour
- It is always this broker. A key type other than group and transaction is InvalidRequest.
- The coordinator's own topic is created if it does not exist.

Version notes: key types from 1, many keys at once from 4.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.rights import GROUP_DESCRIBE, TRANSACTIONAL_ID_DESCRIBE

_GROUP, _TRANSACTION = 0, 1
_BATCHED_VERSION = 4


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with this broker for every key."""
    key_type = getattr(request, "key_type", _GROUP)
    if context.version >= _BATCHED_VERSION:
        return {"coordinators": [_coordinator(broker, context, key_type, key) for key in request.coordinator_keys]}
    return _coordinator(broker, context, key_type, request.key)


def _coordinator(broker: Broker, context: Context, key_type: int, key: str) -> Answer:
    if key_type not in (_GROUP, _TRANSACTION):
        return _none(key, Code.INVALID_REQUEST, f"no coordinator for key {key!r} of type {key_type}")
    try:
        require(broker, context, GROUP_DESCRIBE if key_type == _GROUP else TRANSACTIONAL_ID_DESCRIBE, key)
    except KafkaError as denied:
        return _none(key, denied.code, "")
    try:
        broker.group_log() if key_type == _GROUP else broker.transaction_log()
    except KafkaError as why:
        return _none(key, Code.COORDINATOR_NOT_AVAILABLE, str(why))
    endpoint = broker.endpoint_for(context.listener)
    here = {"node_id": NODE_ID, "host": endpoint.host, "port": endpoint.port}
    return {"key": key, **here, "error_code": Code.NONE}


def _none(key: str, code: Code, message: str) -> Answer:
    return {"key": key, "node_id": -1, "host": "", "port": -1, "error_code": code, "error_message": message}
