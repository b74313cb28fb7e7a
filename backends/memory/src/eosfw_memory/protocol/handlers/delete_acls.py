"""DeleteAcls (31): refuse it: there is no authorizer, as in a Kafka without `authorizer.class.name`."""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer

_REFUSED = {
    "error_code": Code.SECURITY_DISABLED,
    "error_message": "No Authorizer is configured.",
    "matching_acls": (),
}


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer SecurityDisabled for each filter."""
    return {"filter_results": [_REFUSED for _ in request.filters]}
