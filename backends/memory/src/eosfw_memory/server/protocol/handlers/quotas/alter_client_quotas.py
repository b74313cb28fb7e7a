"""AlterClientQuotas (49): set and remove the quotas of users and client ids (KIP-546).

Behaviour
- A refusal of one entity does not affect the others; an entity that comes twice is refused the second time.
- The quotas count when the answer comes, and survive in the log; with `validate_only` nothing changes.
- Quotas of addresses, and `controller_mutation_rate`, are refused: this broker does not enforce them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_ALTER_CONFIGS
from eosfw_memory.server.quotas.client_quota_entity import CLIENT_ID, USER, Entity, sorted_parts
from eosfw_memory.server.quotas.client_quota_manager import QuotaType

_KEYS: Final = frozenset(each.value for each in QuotaType)
_MOST_BYTES: Final = 2**63 - 1
_WHOLE: Final = 1e-6
"""As exactly as Kafka wants a number of bytes to be whole."""


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each entity."""
    entries = [_entity(each) for each in request.entries]
    if not allows(broker, context, CLUSTER_ALTER_CONFIGS):
        refused = KafkaError(CLUSTER_ALTER_CONFIGS.denied)
        return {"entries": [_result(entity, refused) for entity in entries]}
    results: dict[Entity, KafkaError | None] = {}
    changes: list[tuple[Entity, Mapping[str, float | None]]] = []
    for entity, each in zip(entries, request.entries, strict=True):
        try:
            _check_entity(entity, results)
            changes.append((entity, _values(each.ops)))
            results[entity] = None
        except KafkaError as refused:
            results[entity] = refused
    if not request.validate_only:
        try:
            broker.quota_control.alter(changes)
        except KafkaError as why:
            results |= dict.fromkeys((entity for entity, _ in changes), why)
    return {"entries": [_result(entity, refused) for entity, refused in results.items()]}


def _entity(entry: Any) -> Entity:
    # Of a type that comes twice the last name counts, as in Kafka.
    return frozenset({each.entity_type: each.entity_name for each in entry.entity}.items())


def _check_entity(entity: Entity, before: Container[Entity]) -> None:
    if entity in before:
        raise KafkaError(Code.INVALID_REQUEST, "the entity comes twice")
    if not entity:
        raise KafkaError(Code.INVALID_REQUEST, "the entity is empty")
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID):
            raise KafkaError(Code.INVALID_REQUEST, f"the embedded broker has no quotas of the type {kind}")
        if name == "":
            raise KafkaError(Code.INVALID_REQUEST, f"the name of the {kind} is empty")


def _values(ops: Any) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for op in ops:
        if op.key in values:
            raise KafkaError(Code.INVALID_REQUEST, f"{op.key} comes twice")
        values[op.key] = None if op.remove else _checked(op.key, op.value)
    return values


def _checked(key: str, value: float) -> float:
    if key not in _KEYS:
        known = ", ".join(sorted(_KEYS))
        raise KafkaError(Code.INVALID_REQUEST, f"the embedded broker has no quota {key}, but {known}")
    if not value > 0:
        raise KafkaError(Code.INVALID_REQUEST, f"{key} is {value}, and must be more than 0")
    if key != QuotaType.REQUEST.value and (value > _MOST_BYTES or value % 1 > _WHOLE):
        raise KafkaError(Code.INVALID_REQUEST, f"{key} is {value}, and must be a whole number of 64 bits")
    return value


def _result(entity: Entity, refused: KafkaError | None) -> Answer:
    return {
        "error_code": Code.NONE if refused is None else refused.code,
        "error_message": None if refused is None else refused.message,
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in sorted_parts(entity)],
    }
