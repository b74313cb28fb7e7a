"""ListGroups (16): list the groups.

Version notes: filtered by states from 4 on, by types from 5 on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE, GROUP_DESCRIBE


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the groups that pass the filters."""
    every = allows(broker, context, CLUSTER_DESCRIBE)
    states, types = _folded(getattr(request, "states_filter", ())), _folded(getattr(request, "types_filter", ()))
    return {
        "error_code": Code.NONE,
        "groups": [
            {
                "group_id": group.group_id,
                "protocol_type": group.protocol_type or "",
                "group_state": group.state.value,
                "group_type": group.group_type,
            }
            for group in broker.groups.groups()
            if every or allows(broker, context, GROUP_DESCRIBE, group.group_id)
            if (not states or group.state.value.lower() in states) and (not types or group.group_type in types)
        ],
    }


def _folded(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}
