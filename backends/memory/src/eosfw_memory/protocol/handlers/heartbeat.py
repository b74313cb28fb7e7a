"""Heartbeat (12): hear that a member lives, tell it when the group rebalances.

Version notes: static members from 3 on.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.delayed_operation import Answer


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer with the group's code."""
    return {"error_code": broker.groups.heartbeat(request.group_id, request, broker.now_ms())}
