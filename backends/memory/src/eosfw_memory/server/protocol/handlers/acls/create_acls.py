"""CreateAcls (30): add access rules.

Behaviour
- Without `authorizer.class.name` the answer is SecurityDisabled for each.
- A refusal of one rule does not affect the others; a rule that is there already is no error. The rules count when the
  answer comes, and survive in the log.
- The only name of a CLUSTER is `kafka-cluster`; a principal is `TYPE:NAME`.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.acl_requests import binding_of
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_ALTER
from eosfw_memory.server.security.acl.acl_binding import AclBinding


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each rule."""
    if not allows(broker, context, CLUSTER_ALTER):
        return {"results": [{"error_code": CLUSTER_ALTER.denied} for _ in request.creations]}
    if broker.acls is None:
        refused = {"error_code": Code.SECURITY_DISABLED, "error_message": "No Authorizer is configured."}
        return {"results": [refused for _ in request.creations]}
    checked = [_checked(each) for each in request.creations]
    try:
        broker.acls.create(each for each in checked if isinstance(each, AclBinding))
    except KafkaError as why:
        checked = [why if isinstance(each, AclBinding) else each for each in checked]
    return {"results": [_result(each) for each in checked]}


def _checked(creation: Any) -> AclBinding | KafkaError:
    try:
        return binding_of(creation)
    except KafkaError as why:
        return why


def _result(made: AclBinding | KafkaError) -> Answer:
    if isinstance(made, KafkaError):
        return {"error_code": made.code, "error_message": made.message}
    return {"error_code": Code.NONE}
