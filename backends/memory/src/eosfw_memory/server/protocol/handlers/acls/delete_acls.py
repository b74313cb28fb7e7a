"""DeleteAcls (31): remove the access rules that pass filters.

Behaviour
- Without `authorizer.class.name` the answer is SecurityDisabled for each.
- A rule that passes several filters is listed in the answer to each of them.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.acl_requests import fields_of, filter_of
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_ALTER


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each filter."""
    if not allows(broker, context, CLUSTER_ALTER):
        return {"filter_results": [_refused(CLUSTER_ALTER.denied) for _ in request.filters]}
    if broker.authorizer is None or broker.acls is None:
        refused = _refused(Code.SECURITY_DISABLED, "No Authorizer is configured.")
        return {"filter_results": [refused for _ in request.filters]}
    found = [list(broker.authorizer.acls(filter_of(each))) for each in request.filters]
    try:
        broker.acls.delete(dict.fromkeys(acl for acls in found for acl in acls))
    except KafkaError as why:
        return {"filter_results": [_refused(why.code, why.message) for _ in request.filters]}
    results = [
        {"error_code": Code.NONE, "matching_acls": [{"error_code": Code.NONE, **fields_of(acl)} for acl in acls]}
        for acls in found
    ]
    return {"filter_results": results}


def _refused(code: Code, message: str | None = None) -> Answer:
    return {"error_code": code, "error_message": message, "matching_acls": ()}
