"""JoinGroup (11): let a client join a group, or rejoin it.

Behaviour
- The answer comes when the next generation begins: when every member has joined, or the rebalance timeout is over.
- A dynamic client without member id gets one with MemberIdRequired, to join with it (KIP-394).
- A static member (group.instance.id) gets its place back under a new member id; the holder of the old one is fenced
  (KIP-345).
- In a consumer group with members the answer comes at once: the broker assigns, nobody leads (KIP-848).

Version notes: member ids are required from 4 on, static members join from 5 on, answers have the protocol type from 7
on, an assignment may be kept from 9 on (KIP-814).
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.groups.membership.members import JoinRequest
from eosfw_memory.server.coordinators.groups.membership.responses import join_error
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import GROUP_READ, TOPIC_DESCRIBE

_KNOWN_ID_VERSION = 4
_NULLABLE_PROTOCOL_VERSION = 7
_SKIPPING_VERSION = 9


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Answer with the generation, once it begins."""
    if not allows(broker, context, GROUP_READ, request.group_id):
        return _for_version(join_error(request.member_id, GROUP_READ.denied), context.version)
    joining = JoinRequest(
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        client_id=context.client_id,
        client_host=context.client_host,
        session_timeout_ms=_ms(request.session_timeout),
        rebalance_timeout_ms=_ms(request.rebalance_timeout),
        protocol_type=request.protocol_type,
        protocols=tuple((each.name, bytes(each.metadata)) for each in request.protocols),
        needs_known_id=context.version >= _KNOWN_ID_VERSION,
        may_skip_assignment=context.version >= _SKIPPING_VERSION,
        sees=lambda name: allows(broker, context, TOPIC_DESCRIBE, name),
    )
    answer = broker.groups.members.join(request.group_id, joining, broker.now_ms())
    return _for_version(answer, context.version)


def _for_version(answer: Answer | DelayedOperation, version: int) -> Answer | DelayedOperation:
    if version >= _NULLABLE_PROTOCOL_VERSION:
        return answer
    return answer.then(_without_null) if isinstance(answer, DelayedOperation) else _without_null(answer)


def _without_null(answer: Answer) -> Answer:
    """An empty name in place of null for versions that have no null there."""
    return {**answer, "protocol_name": answer["protocol_name"] or ""}


def _ms(duration: Any) -> int:
    return int(duration.total_seconds() * 1000)
