"""LeaveGroup (13): remove members from a group.

Behaviour
- A member is named by its id, or, by an administrator, by its group.instance.id alone.

Version notes: one member up to 2, many from 3 on; from 5 on with a reason, which is not used.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import GROUP_READ

_BATCHED_VERSION = 3


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each member."""
    if not allows(broker, context, GROUP_READ, request.group_id):
        return {"error_code": GROUP_READ.denied, "members": ()}
    one = context.version < _BATCHED_VERSION
    leavers = [
        (each.member_id, None if one else each.group_instance_id) for each in ([request] if one else request.members)
    ]
    try:
        codes = broker.groups.leave(request.group_id, leavers, broker.now_ms())
    except KafkaError as refused:
        return {"error_code": refused.code, "members": ()}
    if one:
        return {"error_code": codes[0]}
    return {
        "error_code": Code.NONE,
        "members": [
            {"member_id": member_id, "group_instance_id": instance_id, "error_code": code}
            for (member_id, instance_id), code in zip(leavers, codes, strict=True)
        ],
    }
