"""The class of error for each error code of Kafka's protocol, for each kind of call.

The same code needs another reaction in another call: a timeout of a commit leaves its outcome unknown, a timeout of a
fetch does not. All backends share these tables; a backend adds the codes of its own library (`ErrorTable.extended`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from eosfw.errors import (
    AbortableError,
    ClusterAuthorizationError,
    ClusterUnavailableError,
    CommitFailedError,
    ConcurrentTransactionsError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    GroupAuthorizationError,
    GroupIdNotFoundError,
    GroupNotEmptyError,
    InconsistentGroupProtocolError,
    IndefiniteOutcomeError,
    InvalidPidMappingError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTransactionTimeoutError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    ProducerFencedError,
    RebalanceInProgressError,
    RecordTooLargeError,
    TopicAuthorizationError,
    TopicExistsError,
    TransactionalIdAuthorizationError,
    TransactionalIdNotFoundError,
    TransactionNotFoundError,
    UnknownTopicOrPartitionError,
    UnsupportedError,
)
from eosfw.kafka_codes import Code

__all__ = [
    "ABORT_MARKER",
    "ADD",
    "ADMIN",
    "BUSY",
    "COORDINATOR",
    "DELIVERY",
    "DENIED",
    "END",
    "FENCE",
    "GROUP",
    "INIT",
    "LOST_COORDINATOR",
    "MISSING",
    "MOVED",
    "OFFSETS",
    "PRODUCE",
    "READ",
    "RECORDS",
    "RETRIABLE",
    "TOO_LARGE",
    "TRANSACTIONS",
    "UNFORESEEN",
    "Codes",
    "ErrorTable",
    "error_class",
]

Codes = Mapping[int, type[EosfwError]]

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
"""The broker is not the leader or the controller, or not yet: look up the metadata again."""
TOO_LARGE = frozenset({Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE})
"""The log takes no batch of this size, but may take its records in smaller ones."""
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
        Code.UNSTABLE_OFFSET_COMMIT,
    }
)
"""Temporary: repeat the request."""
RETRIABLE = MOVED | LOST_COORDINATOR | BUSY


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """What each code means to one call; `retriable` is the class of retriable codes once there is no time to retry."""

    codes: Codes
    retriable: type[EosfwError]
    default: type[EosfwError] = FatalError
    exhausted_codes: Codes = field(default_factory=dict)
    """Retriable codes that have a class of their own once the time for retries is over."""

    def named(self, code: int) -> type[EosfwError] | None:
        """The class of a code that is in the table; None for any other."""
        return self.codes.get(code) or self.exhausted_codes.get(code)

    def extended(self, *more: Codes, retriable: type[EosfwError] | None = None) -> ErrorTable:
        """A table with more codes, which win over those of this one."""
        codes = dict(self.codes)
        for each in more:
            codes.update(each)
        return replace(self, codes=codes, retriable=retriable or self.retriable)


DENIED: Codes = {
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationError,
    Code.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationError,
    Code.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationError,
}
COORDINATOR: Codes = {
    **DENIED,
    # The coordinator gives the same answers to a transaction it timed out as to one a newer holder replaced.
    Code.PRODUCER_FENCED: ProducerFencedError,
    Code.INVALID_PRODUCER_EPOCH: ProducerFencedError,
    Code.INVALID_TXN_STATE: InvalidTxnStateError,
    Code.INVALID_PRODUCER_ID_MAPPING: InvalidPidMappingError,
    Code.UNKNOWN_PRODUCER_ID: InvalidPidMappingError,
    Code.TRANSACTION_ABORTABLE: AbortableError,
}
UNFORESEEN: Codes = {Code.UNKNOWN_SERVER_ERROR: IndefiniteOutcomeError}
"""It is unknown whether the call had an effect, even if a library says that the transaction can be aborted."""
MISSING: Codes = {Code.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicOrPartitionError}

RECORDS: Codes = {
    Code.MESSAGE_TOO_LARGE: RecordTooLargeError,
    Code.RECORD_LIST_TOO_LARGE: RecordTooLargeError,
    Code.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    # Nothing was written, whichever call reports it.
    Code.INVALID_RECORD: InvalidRecordError,
    Code.INVALID_TIMESTAMP: InvalidRecordError,
    Code.UNSUPPORTED_COMPRESSION_TYPE: InvalidRecordError,
    Code.CORRUPT_MESSAGE: AbortableError,
    Code.POLICY_VIOLATION: AbortableError,
    Code.INVALID_TOPIC_EXCEPTION: AbortableError,
}

INIT = ErrorTable(
    {
        **COORDINATOR,
        Code.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationError,
        Code.INVALID_TRANSACTION_TIMEOUT: InvalidTransactionTimeoutError,
    },
    retriable=IndefiniteOutcomeError,
    exhausted_codes={Code.CONCURRENT_TRANSACTIONS: ConcurrentTransactionsError},
)
FENCE = INIT.extended(retriable=ClusterUnavailableError)
"""InitProducerId to fence: a lost request may be repeated, since fencing twice does no harm (ADM-02)."""
ADD = ErrorTable(
    {**COORDINATOR, **UNFORESEEN, Code.OPERATION_NOT_ATTEMPTED: AbortableError},
    retriable=IndefiniteOutcomeError,
    exhausted_codes=MISSING,
)
PRODUCE = ErrorTable(
    {
        **COORDINATOR,
        **RECORDS,
        Code.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationError,
    },
    retriable=IndefiniteOutcomeError,
    default=AbortableError,
    exhausted_codes=MISSING,
)
DELIVERY = ErrorTable(
    {**PRODUCE.codes, Code.INVALID_PRODUCER_EPOCH: InvalidProducerEpochError},
    retriable=IndefiniteOutcomeError,
    default=AbortableError,
    exhausted_codes=MISSING,
)
"""The delivery of one record. A partition knows epochs only; whether a producer is fenced, the coordinator says."""
OFFSETS = ErrorTable(
    {
        **COORDINATOR,
        **UNFORESEEN,
        # Another member owns these partitions now and reads again what this transaction has read (KIP-447).
        Code.ILLEGAL_GENERATION: AbortableError,
        Code.UNKNOWN_MEMBER_ID: AbortableError,
        Code.FENCED_INSTANCE_ID: AbortableError,
        Code.REBALANCE_IN_PROGRESS: AbortableError,
        Code.OFFSET_METADATA_TOO_LARGE: AbortableError,
    },
    retriable=IndefiniteOutcomeError,
    exhausted_codes=MISSING,
)
END = ErrorTable({**COORDINATOR, **UNFORESEEN}, retriable=IndefiniteOutcomeError)
READ = ErrorTable(
    {
        **DENIED,
        Code.OFFSET_OUT_OF_RANGE: DamagedDataError,
        Code.CORRUPT_MESSAGE: DamagedDataError,
        Code.UNSUPPORTED_COMPRESSION_TYPE: DamagedDataError,
    },
    retriable=ClusterUnavailableError,
    exhausted_codes=MISSING,
)
ADMIN = ErrorTable(
    {
        **DENIED,
        Code.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationError,
        Code.TOPIC_ALREADY_EXISTS: TopicExistsError,
        Code.GROUP_ID_NOT_FOUND: GroupIdNotFoundError,
        Code.NON_EMPTY_GROUP: GroupNotEmptyError,
        Code.INVALID_CONFIG: ConfigError,
        Code.INVALID_PARTITIONS: ConfigError,
        Code.INVALID_REPLICATION_FACTOR: ConfigError,
        Code.INVALID_REPLICA_ASSIGNMENT: ConfigError,
        Code.INVALID_TOPIC_EXCEPTION: ConfigError,
        Code.POLICY_VIOLATION: ConfigError,
        Code.INVALID_REQUEST: ConfigError,
    },
    retriable=ClusterUnavailableError,
    exhausted_codes=MISSING,
)
GROUP = ErrorTable(
    {
        **DENIED,
        # The member is known, or the code were UNKNOWN_MEMBER_ID: its client has not heard of the last rebalance yet.
        Code.ILLEGAL_GENERATION: RebalanceInProgressError,
        # Whatever this member owned, another one may own now.
        Code.UNKNOWN_MEMBER_ID: CommitFailedError,
        Code.FENCED_INSTANCE_ID: CommitFailedError,
        Code.GROUP_ID_NOT_FOUND: CommitFailedError,
        Code.REBALANCE_IN_PROGRESS: RebalanceInProgressError,
        Code.INCONSISTENT_GROUP_PROTOCOL: InconsistentGroupProtocolError,
        Code.INVALID_GROUP_ID: ConfigError,
        Code.INVALID_SESSION_TIMEOUT: ConfigError,
    },
    retriable=ClusterUnavailableError,
    exhausted_codes=MISSING,
)
"""Calls of a member of a consumer group."""

TRANSACTIONS = ErrorTable(
    {
        **DENIED,
        Code.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationError,
        Code.TRANSACTIONAL_ID_NOT_FOUND: TransactionalIdNotFoundError,
        Code.INVALID_REQUEST: TransactionalIdNotFoundError,  # Kafka's answer to an empty id
        Code.UNSUPPORTED_VERSION: UnsupportedError,
    },
    retriable=ClusterUnavailableError,
    exhausted_codes=MISSING,
)
"""Calls that list and describe transactions and producers (KIP-664)."""
ABORT_MARKER = TRANSACTIONS.extended(
    {
        # The transaction has ended, or its producer goes on with a newer epoch.
        Code.INVALID_PRODUCER_EPOCH: TransactionNotFoundError,
        Code.INVALID_TXN_STATE: TransactionNotFoundError,
        Code.TRANSACTION_COORDINATOR_FENCED: TransactionNotFoundError,
    }
)


def error_class(code: int, table: ErrorTable) -> type[EosfwError]:
    """The class of the error that a code is raised as."""
    return table.named(code) or (table.retriable if code in RETRIABLE else table.default)
