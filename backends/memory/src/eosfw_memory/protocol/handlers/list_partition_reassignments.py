"""ListPartitionReassignments (46): one broker has nowhere to move a partition to."""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer that none is under way."""
    return {"error_code": Code.NONE, "error_message": None, "topics": ()}
