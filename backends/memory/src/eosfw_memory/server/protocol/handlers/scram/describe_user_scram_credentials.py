"""DescribeUserScramCredentials (50): show who has a password for SCRAM (KIP-554).

Behaviour
- Of a credential the mechanism and the number of iterations are shown, nothing else.
- Without names all users are shown. A name that comes twice is refused, one without a credential is not found.
- Users whom the broker's properties name have no credential here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DESCRIBE


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each user."""
    if not allows(broker, context, CLUSTER_DESCRIBE):
        refused = KafkaError(CLUSTER_DESCRIBE.denied)
        results = [_result(each.name, (), refused) for each in request.users or ()]
        return {"error_code": refused.code, "error_message": None, "results": results}
    known: dict[str, list[Answer]] = {}
    for (user, mechanism), credential in broker.scram.credentials.items():
        known.setdefault(user, []).append({"mechanism": mechanism, "iterations": credential.iterations})
    wanted = Counter([each.name for each in request.users or ()] or list(known))
    results = [_result(user, known.get(user, ()), _refused(user, known, count)) for user, count in wanted.items()]
    return {"error_code": Code.NONE, "error_message": None, "results": results}


def _refused(user: str, known: Container[str], count: int) -> KafkaError | None:
    if count > 1:
        say = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return KafkaError(Code.DUPLICATE_RESOURCE, say)
    if user not in known:
        return KafkaError(Code.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}")
    return None


def _result(user: str, infos: Sequence[Answer], refused: KafkaError | None) -> Answer:
    return {
        "user": user,
        "error_code": Code.NONE if refused is None else refused.code,
        "error_message": None if refused is None else refused.message,
        "credential_infos": infos if refused is None else (),
    }
