"""ListPartitionReassignments (46): list none: one broker cannot move a partition."""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer with an empty list."""
    if not allows(broker, context, CLUSTER_DESCRIBE):
        return {"error_code": CLUSTER_DESCRIBE.denied, "topics": ()}
    return {"error_code": Code.NONE, "topics": ()}
