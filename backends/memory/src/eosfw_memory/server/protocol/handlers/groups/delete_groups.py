"""DeleteGroups (42): delete groups without members, with their offsets."""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import GROUP_DELETE


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each group."""
    now_ms = broker.now_ms()

    def code(name: str) -> Code:
        allowed = allows(broker, context, GROUP_DELETE, name)
        return broker.groups.delete(name, now_ms) if allowed else GROUP_DELETE.denied

    return {"results": [{"group_id": name, "error_code": code(name)} for name in request.groups_names]}
