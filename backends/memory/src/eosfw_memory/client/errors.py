"""Put error codes of Kafka's protocol into words."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.errors import ConfigError, EosfwError, IndefiniteOutcomeError, Problem
from eosfw.fates import (
    ABORT_MARKER,
    ADD,
    ADMIN,
    DELIVERY,
    END,
    FENCE,
    INIT,
    LOST_COORDINATOR,
    MOVED,
    OFFSETS,
    PRODUCE,
    READ,
    RETRIABLE,
    TRANSACTIONS,
    Fates,
    fate,
)
from eosfw_memory.codes import Code

__all__ = [
    "ABORT_MARKER",
    "ADD",
    "ADMIN",
    "DELIVERY",
    "END",
    "FENCE",
    "INIT",
    "LOST_COORDINATOR",
    "MOVED",
    "OFFSETS",
    "PRODUCE",
    "READ",
    "RETRIABLE",
    "TRANSACTIONS",
    "Fates",
    "fate",
    "indefinite",
    "ours",
]

_NAMES = {int(code): code.name for code in Code}
_NEWER = "fenced: a newer producer holds this transactional id, or the coordinator timed this one out"
_SAYS: Mapping[int, str] = {
    Code.PRODUCER_FENCED: _NEWER,
    Code.INVALID_PRODUCER_EPOCH: _NEWER,
    Code.INVALID_TRANSACTION_TIMEOUT: "transaction.timeout.ms is above the broker's transaction.max.timeout.ms",
    Code.UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition",
    Code.CONCURRENT_TRANSACTIONS: "the coordinator still ends an earlier transaction of this id",
    Code.ILLEGAL_GENERATION: "the group has moved on to another generation, so others read these partitions now",
    Code.UNKNOWN_MEMBER_ID: "the group does not know this member any more, so others read its partitions now",
    Code.FENCED_INSTANCE_ID: "another process has taken over this group.instance.id",
    Code.UNSTABLE_OFFSET_COMMIT: "offsets of a transaction that is still open hold the answer back",
    Code.TRANSACTIONAL_ID_NOT_FOUND: "no coordinator knows this transactional id: never used, or expired",
    Code.MESSAGE_TOO_LARGE: "the topic's max.message.bytes does not allow a batch of this size",
}
"""What a code means, where brokers do not say so themselves."""


def ours(code: int, fates: Fates, what: str, said: str | None = None) -> EosfwError:
    """One of our errors for a code; `what` says what was tried, on what; `said` is the broker's own text."""
    found, name = fate(code, fates), _NAMES.get(code, f"error code {code}")
    said = said or _SAYS.get(code)
    if issubclass(found, ConfigError):
        return ConfigError(Problem(what, said or name))
    text = f"{what}: {said} ({name})" if said else f"{what}: {name}"
    if found is IndefiniteOutcomeError:
        text = f"{text}; it may have happened or not: discard this producer"
    return found(text)


def indefinite(what: str, why: EosfwError) -> IndefiniteOutcomeError:
    """The error of a call that left and was not answered."""
    return IndefiniteOutcomeError(f"{what}: {why}; it may have happened or not: discard this producer")
