"""DeleteGroups (42): delete groups without members, with their offsets."""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each group."""
    now_ms = broker.now_ms()
    names = request.groups_names
    return {"results": [{"group_id": name, "error_code": broker.groups.delete(name, now_ms)} for name in names]}
