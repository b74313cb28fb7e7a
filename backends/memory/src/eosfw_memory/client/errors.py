"""Give each error code of Kafka's protocol its fate, call by call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    GroupAuthorizationError,
    IndefiniteOutcomeError,
    InvalidPidMappingError,
    InvalidProducerEpochError,
    InvalidTransactionTimeoutError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    Problem,
    ProducerFencedError,
    RecordTooLargeError,
    TopicAuthorizationError,
    TopicExistsError,
    TransactionalIdAuthorizationError,
    UnknownTopicOrPartitionError,
)
from eosfw_memory.codes import Code

_Codes = Mapping[int, type[EosfwError]]

MOVED = frozenset(
    {
        Code.LEADER_NOT_AVAILABLE,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.REPLICA_NOT_AVAILABLE,
        Code.KAFKA_STORAGE_ERROR,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.UNKNOWN_TOPIC_OR_PARTITION,
        Code.NOT_CONTROLLER,
    }
)
"""The broker that was asked is not, or not yet, in charge: look again who is."""
LOST_COORDINATOR = frozenset({Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE})
BUSY = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.CONCURRENT_TRANSACTIONS,
        Code.REQUEST_TIMED_OUT,
        Code.NETWORK_EXCEPTION,
        Code.NOT_ENOUGH_REPLICAS,
        Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Code.OFFSET_NOT_AVAILABLE,
        Code.THROTTLING_QUOTA_EXCEEDED,
    }
)
"""Nothing is wrong but the moment: ask again."""
RETRIABLE = MOVED | LOST_COORDINATOR | BUSY


@dataclass(frozen=True, slots=True)
class Fates:
    """What each code means to one call; `late` is for codes that could be tried again when there is no time left."""

    codes: _Codes
    late: type[EosfwError]
    otherwise: type[EosfwError] = FatalError
    late_codes: _Codes = field(default_factory=dict)
    """Codes that say more than `late`, although they could be tried again."""


_DENIED: _Codes = {
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationError,
    Code.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationError,
    Code.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationError,
}
_COORDINATOR: _Codes = {
    **_DENIED,
    # The coordinator gives the same answers to a transaction it timed out as to one a newer holder replaced.
    Code.PRODUCER_FENCED: ProducerFencedError,
    Code.INVALID_PRODUCER_EPOCH: ProducerFencedError,
    Code.INVALID_TXN_STATE: InvalidTxnStateError,
    Code.INVALID_PRODUCER_ID_MAPPING: InvalidPidMappingError,
    Code.UNKNOWN_PRODUCER_ID: InvalidPidMappingError,
    Code.TRANSACTION_ABORTABLE: AbortableError,
}
_MISSING: _Codes = {Code.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicOrPartitionError}

INIT = Fates(
    {**_COORDINATOR, Code.INVALID_TRANSACTION_TIMEOUT: InvalidTransactionTimeoutError},
    late=IndefiniteOutcomeError,
    late_codes={Code.CONCURRENT_TRANSACTIONS: ConcurrentTransactionsError},
)
ADD = Fates(
    {**_COORDINATOR, Code.OPERATION_NOT_ATTEMPTED: AbortableError},
    late=IndefiniteOutcomeError,
    late_codes=_MISSING,
)
PRODUCE = Fates(
    {
        **_COORDINATOR,
        Code.MESSAGE_TOO_LARGE: RecordTooLargeError,
        Code.RECORD_LIST_TOO_LARGE: RecordTooLargeError,
        Code.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    },
    late=IndefiniteOutcomeError,
    otherwise=AbortableError,
    late_codes=_MISSING,
)
DELIVERY = Fates(
    {**PRODUCE.codes, Code.INVALID_PRODUCER_EPOCH: InvalidProducerEpochError},
    late=IndefiniteOutcomeError,
    otherwise=AbortableError,
    late_codes=_MISSING,
)
"""What the report of one record says: a partition knows of epochs, only the coordinator of fencing."""
END = Fates(_COORDINATOR, late=IndefiniteOutcomeError)
READ = Fates(
    {
        **_DENIED,
        Code.OFFSET_OUT_OF_RANGE: DamagedDataError,
        Code.CORRUPT_MESSAGE: DamagedDataError,
        Code.UNSUPPORTED_COMPRESSION_TYPE: DamagedDataError,
    },
    late=ClusterUnavailableError,
    late_codes=_MISSING,
)
ADMIN = Fates(
    {
        **_DENIED,
        Code.TOPIC_ALREADY_EXISTS: TopicExistsError,
        Code.INVALID_CONFIG: ConfigError,
        Code.INVALID_PARTITIONS: ConfigError,
        Code.INVALID_REPLICATION_FACTOR: ConfigError,
        Code.INVALID_REPLICA_ASSIGNMENT: ConfigError,
        Code.INVALID_TOPIC_EXCEPTION: ConfigError,
        Code.POLICY_VIOLATION: ConfigError,
        Code.INVALID_REQUEST: ConfigError,
    },
    late=ClusterUnavailableError,
    late_codes=_MISSING,
)

_NAMES = {int(code): code.name for code in Code}
_NEWER = "fenced: a newer producer holds this transactional id, or the coordinator timed this one out"
_SAYS: Mapping[int, str] = {
    Code.PRODUCER_FENCED: _NEWER,
    Code.INVALID_PRODUCER_EPOCH: _NEWER,
    Code.INVALID_TRANSACTION_TIMEOUT: "transaction.timeout.ms is above the broker's transaction.max.timeout.ms",
    Code.UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition",
    Code.CONCURRENT_TRANSACTIONS: "the coordinator still ends an earlier transaction of this id",
    Code.MESSAGE_TOO_LARGE: "the topic's max.message.bytes does not allow a batch of this size",
}
"""What a code means, where brokers do not say so themselves."""


def fate(code: int, fates: Fates) -> type[EosfwError]:
    """The class of ours that a code becomes."""
    named = fates.codes.get(code) or fates.late_codes.get(code)
    if named is not None:
        return named
    return fates.late if code in RETRIABLE else fates.otherwise


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
