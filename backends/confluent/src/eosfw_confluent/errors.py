"""Give each error of librdkafka its fate, call by call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException

from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    GroupAuthorizationError,
    IllegalStateError,
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
from eosfw_confluent import codes

_Codes = Mapping[int, type[EosfwError]]


@dataclass(frozen=True, slots=True)
class Fates:
    """What each error of one call means; what is in no table falls by its flags: fatal, abort, retry, `otherwise`."""

    codes: _Codes
    retriable: type[EosfwError]
    otherwise: type[EosfwError] = FatalError


# librdkafka raises `_FENCED` for a newer holder of the id and for a transaction the coordinator timed out.
_FENCED: _Codes = {
    codes.FENCED: ProducerFencedError,
    KafkaError.PRODUCER_FENCED: ProducerFencedError,
    KafkaError.INVALID_PRODUCER_EPOCH: ProducerFencedError,
}
_DENIED: _Codes = {
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationError,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationError,
    KafkaError.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationError,
}
_COORDINATOR: _Codes = {
    **_FENCED,
    **_DENIED,
    KafkaError.INVALID_TXN_STATE: InvalidTxnStateError,
    KafkaError.INVALID_PRODUCER_ID_MAPPING: InvalidPidMappingError,
    KafkaError.UNKNOWN_PRODUCER_ID: InvalidPidMappingError,
    codes.CONFLICT: IllegalStateError,
}
_MISSING: _Codes = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: UnknownTopicOrPartitionError,
    codes.UNKNOWN_TOPIC: UnknownTopicOrPartitionError,
    codes.UNKNOWN_PARTITION: UnknownTopicOrPartitionError,
}
_RECORDS: _Codes = {
    **_DENIED,
    **_MISSING,
    KafkaError.MSG_SIZE_TOO_LARGE: RecordTooLargeError,
    KafkaError.RECORD_LIST_TOO_LARGE: RecordTooLargeError,
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    # Whether a record that timed out was written cannot be known. In a transaction librdkafka asks for its abort with
    # the second code, from whatever call comes next; who slept so long may have lost the transaction, too.
    codes.MESSAGE_TIMED_OUT: IndefiniteOutcomeError,
    codes.TIMED_OUT: IndefiniteOutcomeError,
}

INIT = Fates(
    {
        **_COORDINATOR,
        KafkaError.INVALID_TRANSACTION_TIMEOUT: InvalidTransactionTimeoutError,
        KafkaError.CONCURRENT_TRANSACTIONS: ConcurrentTransactionsError,
    },
    retriable=IndefiniteOutcomeError,
)
BEGIN = Fates(_COORDINATOR, retriable=FatalError)
SEND = Fates({**_COORDINATOR, **_RECORDS}, retriable=AbortableError, otherwise=AbortableError)
DELIVERY = Fates(
    {**_COORDINATOR, **_RECORDS, KafkaError.INVALID_PRODUCER_EPOCH: InvalidProducerEpochError},
    retriable=IndefiniteOutcomeError,
    otherwise=AbortableError,
)
FLUSH = Fates({**_COORDINATOR, **_RECORDS}, retriable=IndefiniteOutcomeError)
COMMIT = Fates({**_COORDINATOR, **_RECORDS}, retriable=IndefiniteOutcomeError)
ABORT = Fates(_COORDINATOR, retriable=IndefiniteOutcomeError)
READ = Fates(
    {
        **_DENIED,
        **_MISSING,
        codes.AUTO_OFFSET_RESET: DamagedDataError,
        KafkaError.OFFSET_OUT_OF_RANGE: DamagedDataError,
        codes.BAD_MESSAGE: DamagedDataError,
        codes.LOG_TRUNCATION: DamagedDataError,
    },
    retriable=ClusterUnavailableError,
)
ADMIN = Fates(
    {
        **_DENIED,
        **_MISSING,
        KafkaError.TOPIC_ALREADY_EXISTS: TopicExistsError,
        KafkaError.INVALID_CONFIG: ConfigError,
        KafkaError.INVALID_PARTITIONS: ConfigError,
        KafkaError.INVALID_REPLICATION_FACTOR: ConfigError,
        KafkaError.POLICY_VIOLATION: ConfigError,
        KafkaError.TOPIC_EXCEPTION: ConfigError,
        codes.INVALID_ARGUMENT: ConfigError,
        # "No leaders found": what list_offsets says of topics that do not exist.
        codes.NO_ENTRY: UnknownTopicOrPartitionError,
        KafkaError.NOT_LEADER_FOR_PARTITION: ClusterUnavailableError,
        KafkaError.LEADER_NOT_AVAILABLE: ClusterUnavailableError,
        # A new partition's leader may not have caught up with the metadata that another broker thread gave out.
        KafkaError.FENCED_LEADER_EPOCH: ClusterUnavailableError,
        KafkaError.UNKNOWN_LEADER_EPOCH: ClusterUnavailableError,
        KafkaError.OFFSET_NOT_AVAILABLE: ClusterUnavailableError,
        codes.TIMED_OUT: ClusterUnavailableError,
        codes.TRANSPORT: ClusterUnavailableError,
        codes.ALL_BROKERS_DOWN: ClusterUnavailableError,
    },
    retriable=ClusterUnavailableError,
)


def fate(error: KafkaError, fates: Fates) -> type[EosfwError]:
    """The class of ours that an error of this call becomes."""
    named = fates.codes.get(error.code())
    if named is not None and not (error.fatal() and issubclass(named, AbortableError)):
        return named
    if error.fatal():
        return FatalError
    if error.txn_requires_abort():
        return AbortableError
    return fates.retriable if error.retriable() or error.code() == codes.TIMED_OUT else fates.otherwise


def ours(error: KafkaError, fates: Fates, what: str) -> EosfwError:
    """One of our errors for one of librdkafka's; `what` says what was tried, on what."""
    found, text = fate(error, fates), f"{what}: {error.str()} ({error.name()})"
    if issubclass(found, ConfigError):
        return ConfigError(Problem(what, error.str()))
    if found is ClusterUnavailableError:
        text = f"{text}; is the cluster running, is bootstrap.servers right?"
    return found(text)


def cause(error: BaseException) -> KafkaError | None:
    """The error of librdkafka inside an exception; a callback's comes wrapped in a SystemError."""
    if isinstance(error, KafkaException):
        return error.args[0] if error.args and isinstance(error.args[0], KafkaError) else None
    return cause(error.__cause__) if isinstance(error, SystemError) and error.__cause__ is not None else None


@contextmanager
def translated(fates: Fates, what: str) -> Iterator[None]:
    """Let no exception of the library out of a call."""
    try:
        yield
    except (KafkaException, SystemError) as why:
        error = cause(why)
        if error is None:
            raise FatalError(f"{what}: {why}") from why
        raise ours(error, fates, what) from why
