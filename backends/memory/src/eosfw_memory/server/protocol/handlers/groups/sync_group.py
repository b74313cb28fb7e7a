"""SyncGroup (14): distribute the assignments of a group.

Behaviour
- The leader sends the assignments of all members; the others wait for it.

Version notes: static members from 3 on; from 5 on a request must name the protocol (KIP-559).
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.membership.responses import sync_error
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import GROUP_READ

_PROTOCOL_VERSION = 5


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Answer with the member's assignment, once the leader has sent it."""
    if context.version >= _PROTOCOL_VERSION and None in (request.protocol_type, request.protocol_name):
        return sync_error(Code.INCONSISTENT_GROUP_PROTOCOL)
    if not allows(broker, context, GROUP_READ, request.group_id):
        return sync_error(GROUP_READ.denied)
    return broker.groups.members.sync(request.group_id, request, broker.now_ms())
