"""DescribeClientQuotas (48): show the quotas of users and client ids (KIP-546).

Behaviour
- A part of the filter names a type of entity and one name, the default, or any name; an entity must fit all parts.
- With `strict` an entity has no types but those of the filter.
- A filter that contradicts itself is refused as a whole. Quotas of addresses are never there.
"""

from __future__ import annotations

from typing import Any, Final

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE_CONFIGS
from eosfw_memory.server.quotas.client_quota_entity import CLIENT_ID, USER, Entity, sorted_parts

_EXACT, _DEFAULT, _ANY = 0, 1, 2
_IP: Final = "ip"
_ANY_NAME: Final = object()
_Wanted = dict[str, object]
"""By type of entity the name, None for the default."""


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the quotas of each entity that fits."""
    if not allows(broker, context, CLUSTER_DESCRIBE_CONFIGS):
        return {"error_code": CLUSTER_DESCRIBE_CONFIGS.denied, "error_message": None, "entries": None}
    try:
        wanted = _wanted(request.components)
    except KafkaError as refused:
        return {"error_code": refused.code, "error_message": refused.message, "entries": None}
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in sorted_parts(entity)],
            "values": [{"key": key, "value": value} for key, value in values.items()],
        }
        for entity, values in broker.quota_control.quotas.items()
        if _fits(entity, wanted, strict=request.strict)
    ]
    return {"error_code": Code.NONE, "error_message": None, "entries": entries}


def _wanted(components: Any) -> _Wanted:
    wanted: _Wanted = {}
    for each in components:
        kind = each.entity_type
        if not kind:
            raise KafkaError(Code.INVALID_REQUEST, "a part of the filter names no type of entity")
        if kind in wanted:
            raise KafkaError(Code.INVALID_REQUEST, f"the filter names the type {kind} twice")
        if kind not in (USER, CLIENT_ID, _IP):
            raise KafkaError(Code.UNSUPPORTED_VERSION, f"there is no type of entity {kind}")
        if each.match_type not in (_EXACT, _DEFAULT, _ANY):
            raise KafkaError(Code.INVALID_REQUEST, f"there is no type of match {each.match_type}")
        if (each.match_type == _EXACT) is (each.match is None):
            raise KafkaError(Code.INVALID_REQUEST, f"a name fits an exact match, and nothing else: {kind}")
        wanted[kind] = _ANY_NAME if each.match_type == _ANY else each.match
    if _IP in wanted and len(wanted) > 1:
        raise KafkaError(Code.INVALID_REQUEST, "no entity has an address beside a user or a client id")
    return wanted


def _fits(entity: Entity, wanted: _Wanted, *, strict: bool) -> bool:
    names = dict(entity)
    if strict and len(names) != len(wanted):
        return False
    return all(kind in names and name in (_ANY_NAME, names[kind]) for kind, name in wanted.items())
