"""DescribeAcls (29): show the access rules that pass a filter.

Behaviour
- Without `authorizer.class.name` the answer is SecurityDisabled.
- Rules about the same pattern come together.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.acl_requests import filter_of, parts_of
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE
from eosfw_memory.server.security.acl.acl_binding import PatternType, ResourceType


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the rules, by their patterns."""
    if not allows(broker, context, CLUSTER_DESCRIBE):
        return {"error_code": CLUSTER_DESCRIBE.denied, "resources": ()}
    if broker.authorizer is None:
        message = "No Authorizer is configured on the broker"
        return {"error_code": Code.SECURITY_DISABLED, "error_message": message, "resources": ()}
    found: dict[tuple[ResourceType, str, PatternType], list[Answer]] = {}
    for acl in broker.authorizer.acls(filter_of(request)):
        found.setdefault((acl.resource_type, acl.resource_name, acl.pattern_type), []).append(parts_of(acl))
    resources = [
        {"resource_type": kind, "resource_name": name, "pattern_type": pattern, "acls": acls}
        for (kind, name, pattern), acls in found.items()
    ]
    return {"error_code": Code.NONE, "resources": resources}
