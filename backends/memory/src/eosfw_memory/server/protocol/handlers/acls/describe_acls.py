"""DescribeAcls (29): refuse it: there is no authorizer, as in a Kafka without `authorizer.class.name`."""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer SecurityDisabled."""
    message = "No Authorizer is configured on the broker"
    return {"error_code": Code.SECURITY_DISABLED, "error_message": message, "resources": ()}
