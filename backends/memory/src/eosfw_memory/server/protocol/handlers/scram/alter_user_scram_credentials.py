"""AlterUserScramCredentials (51): set and remove the passwords of users for SCRAM (KIP-554).

Behaviour
- A refusal of one user does not affect the others; a user who comes twice is refused, and nothing of his changes.
- The client salts the password; the broker keeps two keys of it, in the log, and forgets the rest.
- New connections are authenticated with what is set when the answer comes; those that are open stay.
- Refused, too, are a salt of less than 12 bytes, which Kafka takes, and an empty salted password, with which Kafka
  fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.scram_records import ScramCredentialKey
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_ALTER
from eosfw_memory.server.security.scram_credential import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    MIN_SALT_BYTES,
    ScramCredential,
    ScramMechanism,
)

_TWICE: Final = "A user credential cannot be altered twice in the same request"


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each user."""
    if not allows(broker, context, CLUSTER_ALTER):
        refused = KafkaError(CLUSTER_ALTER.denied)
        names = {each.name for each in (*request.deletions, *request.upsertions)}
        return {"results": [_result(name, refused) for name in sorted(names)]}
    changes = Changes()
    for each in request.deletions:
        changes.add(each.name, _deletion(broker, each))
    for each in request.upsertions:
        changes.add(each.name, _upsertion(each))
    try:
        broker.scram.alter(dict(changes.accepted()))
    except KafkaError as why:
        changes.refuse_all(why)
    return {"results": [_result(name, change) for name, change in changes.by_user.items()]}


Change = tuple[ScramCredentialKey, ScramCredential | None]
"""Whose credential becomes which; None removes it."""


class Changes:
    """What becomes of each user of a request: one change, or why there is none."""

    def __init__(self) -> None:
        self.by_user: dict[str, Change | KafkaError] = {}

    def add(self, user: str, change: Change | KafkaError) -> None:
        """Add the change of a user; the first refusal of a user stays."""
        before = self.by_user.get(user)
        if isinstance(before, tuple):
            change = KafkaError(Code.DUPLICATE_RESOURCE, _TWICE)
        if not isinstance(before, KafkaError):
            self.by_user[user] = change

    def accepted(self) -> Iterable[Change]:
        """The changes that are made."""
        return (change for change in self.by_user.values() if not isinstance(change, KafkaError))

    def refuse_all(self, why: KafkaError) -> None:
        """Refuse what was accepted."""
        self.by_user = {
            name: change if isinstance(change, KafkaError) else why for name, change in self.by_user.items()
        }


def _deletion(broker: Broker, deletion: Any) -> Change | KafkaError:
    whose = _whose(deletion)
    if isinstance(whose, ScramCredentialKey) and whose not in broker.scram.credentials:
        return KafkaError(Code.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return whose if isinstance(whose, KafkaError) else (whose, None)


def _upsertion(upsertion: Any) -> Change | KafkaError:
    whose, iterations = _whose(upsertion), upsertion.iterations
    if isinstance(whose, KafkaError):
        return whose
    if iterations < MIN_ITERATIONS:
        return KafkaError(Code.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if iterations > MAX_ITERATIONS:
        return KafkaError(Code.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if len(upsertion.salt) < MIN_SALT_BYTES:
        return KafkaError(Code.UNACCEPTABLE_CREDENTIAL, f"The salt has less than {MIN_SALT_BYTES} bytes")
    if not upsertion.salted_password:
        return KafkaError(Code.UNACCEPTABLE_CREDENTIAL, "The salted password is empty")
    salted, salt = upsertion.salted_password, upsertion.salt
    return whose, ScramCredential.from_salted_password(whose.mechanism, salted, salt, iterations)


def _whose(change: Any) -> ScramCredentialKey | KafkaError:
    if not change.name:
        return KafkaError(Code.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in tuple(ScramMechanism):
        return KafkaError(Code.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return ScramCredentialKey(change.name, ScramMechanism(change.mechanism))


def _result(user: str, change: Change | KafkaError) -> Answer:
    refused = change if isinstance(change, KafkaError) else None
    return {
        "user": user,
        "error_code": Code.NONE if refused is None else refused.code,
        "error_message": None if refused is None else refused.message,
    }
