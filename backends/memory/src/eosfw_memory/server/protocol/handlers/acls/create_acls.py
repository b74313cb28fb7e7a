"""CreateAcls (30): refuse it: there is no authorizer, as in a Kafka without `authorizer.class.name`."""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context

_REFUSED = {"error_code": Code.SECURITY_DISABLED, "error_message": "No Authorizer is configured."}


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer SecurityDisabled for each."""
    return {"results": [_REFUSED for _ in request.creations]}
