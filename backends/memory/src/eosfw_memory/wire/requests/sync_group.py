"""SyncGroup (14): give a member its assignment.

Behaviour
- The leader brings the assignments of all; the others wait for it.

Version notes: static members from 3 on; from 5 on a client says which protocol it means (KIP-559).
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.deferred import Answer, Deferred


def handle(broker: Broker, request: Any, context: Context) -> Answer | Deferred:  # noqa: ARG001
    """Answer with the member's assignment, once it is there."""
    return broker.groups.sync(request.group_id, request, broker.now_ms())
