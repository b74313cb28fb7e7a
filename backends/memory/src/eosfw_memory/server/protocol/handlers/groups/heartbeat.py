"""Heartbeat (12): keep a member's session alive; its answer tells of a rebalance.

Version notes: static members from 3 on.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import GROUP_READ


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the group's code."""
    if not allows(broker, context, GROUP_READ, request.group_id):
        return {"error_code": GROUP_READ.denied}
    return {"error_code": broker.groups.members.heartbeat(request.group_id, request, broker.now_ms())}
