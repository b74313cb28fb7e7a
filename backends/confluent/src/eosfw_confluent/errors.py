"""Translate each error of librdkafka, by the call that met it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException

from eosfw import error_table as shared
from eosfw.error_table import Codes, ErrorTable
from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    InvalidTxnStateError,
    Problem,
    ProducerFencedError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from eosfw.kafka_codes import Code
from eosfw_confluent import codes

_COORDINATOR: Codes = {
    # librdkafka raises it both when a newer producer holds the id and when the coordinator timed the transaction out.
    codes.FENCED: ProducerFencedError,
    codes.CONFLICT: IllegalStateError,
    # The connection could not be made again: the cluster takes neither the certificate nor the password, or has another
    # certificate, while those of before were good. What was under way may have happened.
    codes.SSL: IndefiniteOutcomeError,
    codes.AUTHENTICATION: IndefiniteOutcomeError,
}
_MISSING: Codes = {
    codes.UNKNOWN_TOPIC: UnknownTopicOrPartitionError,
    codes.UNKNOWN_PARTITION: UnknownTopicOrPartitionError,
}
_RECORDS: Codes = {
    **_MISSING,
    # A record that timed out may have been written or not. Inside a transaction the next call fails with the second
    # code and asks for an abort; after so long a pause the transaction itself may be lost.
    codes.MESSAGE_TIMED_OUT: IndefiniteOutcomeError,
    codes.TIMED_OUT: IndefiniteOutcomeError,
    # librdkafka gives the sequence numbers of a refused batch to no other one, so the next transaction that writes to
    # its partition is refused, too. The abort of that one gets a new epoch, with which they begin anew.
    Code.OUT_OF_ORDER_SEQUENCE_NUMBER: AbortableError,
}

INIT = shared.INIT.extended(_COORDINATOR)
BEGIN = shared.END.extended(_COORDINATOR, retriable=FatalError)
SEND = shared.PRODUCE.extended(_COORDINATOR, _RECORDS, retriable=AbortableError)
DELIVERY = shared.DELIVERY.extended(_COORDINATOR, _RECORDS)
FLUSH = shared.PRODUCE.extended(shared.MISSING, _COORDINATOR, _RECORDS)
COMMIT = shared.END.extended(shared.MISSING, shared.RECORDS, _COORDINATOR, _RECORDS)
"""A commit also raises the errors of its records."""
SEND_OFFSETS = shared.OFFSETS.extended(_MISSING, _COORDINATOR)
ABORT = shared.END.extended(_COORDINATOR)
_UNREACHABLE: Codes = {
    codes.TRANSPORT: ClusterUnavailableError,
    codes.ALL_BROKERS_DOWN: ClusterUnavailableError,
    codes.SSL: ClusterUnavailableError,
    codes.AUTHENTICATION: ClusterUnavailableError,
    codes.WAIT_COORDINATOR: ClusterUnavailableError,
}
READ = shared.READ.extended(
    _MISSING,
    _UNREACHABLE,
    {
        codes.AUTO_OFFSET_RESET: DamagedDataError,
        codes.BAD_MESSAGE: DamagedDataError,
        codes.LOG_TRUNCATION: DamagedDataError,
    },
)
ADMIN = shared.ADMIN.extended(
    _MISSING,
    _UNREACHABLE,
    {
        codes.INVALID_ARGUMENT: ConfigError,
        # "No leaders found": the answer of list_offsets for a topic that does not exist.
        codes.NO_ENTRY: UnknownTopicOrPartitionError,
    },
)
_HINTS: Mapping[type[EosfwError], str] = {
    ClusterUnavailableError: "is the cluster running, is bootstrap.servers right?",
    RecordTooLargeError: "make the record smaller, or raise max.request.size here and max.message.bytes of the topic",
    # librdkafka#4849: it also ends what the coordinator has refused to begin.
    InvalidTxnStateError: "the coordinator knows of no open transaction, as where a topic was deleted before its first "
    "record was added: close this producer and make another",
}
"""What a user can do about errors whose texts do not tell."""
GROUP = shared.GROUP.extended(shared.MISSING, _MISSING, _UNREACHABLE)
"""A missing topic is not looked for again: librdkafka has done so before it tells."""


def error_class(error: KafkaError, table: ErrorTable) -> type[EosfwError]:
    """The exception class for an error of this call; the flags of the error decide where the table has no row."""
    named = table.named(error.code())
    if named is not None and not (error.fatal() and issubclass(named, AbortableError)):
        return named
    if error.fatal():
        return FatalError
    if error.txn_requires_abort():
        return AbortableError
    retriable = error.retriable() or error.code() in shared.RETRIABLE or error.code() == codes.TIMED_OUT
    return table.retriable if retriable else table.default


def eosfw_error(error: KafkaError, table: ErrorTable, what: str) -> EosfwError:
    """The exception for an error of librdkafka; `what` names the call and its object."""
    found, text = error_class(error, table), f"{what}: {error.str()} ({error.name()})"
    if issubclass(found, ConfigError):
        return ConfigError(Problem(what, error.str()))
    return found(f"{text}; {_HINTS[found]}" if found in _HINTS else text)


def kafka_error_of(error: BaseException) -> KafkaError | None:
    """The error of librdkafka inside an exception; one that a callback raised is the cause of a SystemError."""
    if isinstance(error, KafkaException):
        return error.args[0] if error.args and isinstance(error.args[0], KafkaError) else None
    return kafka_error_of(error.__cause__) if isinstance(error, SystemError) and error.__cause__ is not None else None


def without_frames(error: BaseException) -> BaseException:
    """An exception of the library that was caught, without its traceback and the error that was handled meanwhile.

    confluent-kafka 2.16 never frees an exception that a callback met. With either it would keep the frames of the call,
    and so the client, its threads and its connections, long after the client is closed.
    """
    chained: BaseException | None = error
    while chained is not None:
        chained.__traceback__ = chained.__context__ = None
        chained = chained.__cause__
    return error


@contextmanager
def ignored_errors() -> Iterator[None]:
    """Let a call fail: what matters of its error, the next call raises."""
    try:
        yield
    except (KafkaException, SystemError) as why:
        without_frames(why)


@contextmanager
def translated_errors(table: ErrorTable, what: str) -> Iterator[None]:
    """Raise no exception of the library out of a call."""
    try:
        yield
    except (KafkaException, SystemError) as why:
        error = kafka_error_of(without_frames(why))
        if error is None:
            raise FatalError(f"{what}: {why}") from why
        raise eosfw_error(error, table, what) from why
