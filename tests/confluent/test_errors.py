"""Each error of librdkafka has one class per call."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from eosfw.error_table import ErrorTable
from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    IndefiniteOutcomeError,
    InvalidProducerEpochError,
    InvalidTransactionTimeoutError,
    ProducerFencedError,
    RecordTooLargeError,
    TopicExistsError,
)
from eosfw_confluent import codes
from eosfw_confluent.errors import (
    ABORT,
    ADMIN,
    COMMIT,
    DELIVERY,
    FLUSH,
    INIT,
    READ,
    SEND,
    eosfw_error,
    kafka_error_of,
    translated_errors,
)

EXPECTED: list[tuple[ErrorTable, int, type[EosfwError]]] = [
    (INIT, codes.TIMED_OUT, IndefiniteOutcomeError),
    *((each, codes.SSL, IndefiniteOutcomeError) for each in (INIT, SEND, FLUSH, COMMIT, ABORT)),
    *((each, codes.AUTHENTICATION, IndefiniteOutcomeError) for each in (INIT, SEND, FLUSH, COMMIT, ABORT)),
    *((each, codes.SSL, ClusterUnavailableError) for each in (READ, ADMIN)),
    (INIT, KafkaError.INVALID_TRANSACTION_TIMEOUT, InvalidTransactionTimeoutError),
    (INIT, codes.FENCED, ProducerFencedError),
    (SEND, KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLargeError),
    (SEND, codes.INVALID_ARGUMENT, AbortableError),
    (SEND, codes.TIMED_OUT, IndefiniteOutcomeError),
    (DELIVERY, KafkaError.INVALID_PRODUCER_EPOCH, InvalidProducerEpochError),
    (DELIVERY, codes.MESSAGE_TIMED_OUT, IndefiniteOutcomeError),
    (FLUSH, codes.FENCED, ProducerFencedError),
    (COMMIT, codes.TIMED_OUT, IndefiniteOutcomeError),
    (COMMIT, KafkaError.PRODUCER_FENCED, ProducerFencedError),
    (COMMIT, KafkaError.INVALID_PRODUCER_EPOCH, ProducerFencedError),
    (COMMIT, KafkaError.UNKNOWN, IndefiniteOutcomeError),
    (ABORT, codes.TIMED_OUT, IndefiniteOutcomeError),
    (READ, codes.AUTO_OFFSET_RESET, DamagedDataError),
    (READ, codes.TIMED_OUT, ClusterUnavailableError),
    (ADMIN, codes.TRANSPORT, ClusterUnavailableError),
    (ADMIN, KafkaError.TOPIC_ALREADY_EXISTS, TopicExistsError),
    (ADMIN, KafkaError.INVALID_CONFIG, ConfigError),
]


@pytest.mark.parametrize(("table", "code", "expected"), EXPECTED)
def test_the_class_of_an_error_depends_on_the_call(table: ErrorTable, code: int, expected: type[EosfwError]) -> None:
    """PRD-08: retry, abort, or close."""
    assert type(eosfw_error(KafkaError(code, "why"), table, "a call")) is expected


@pytest.mark.parametrize(
    ("code", "flags", "expected"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, {"fatal": True}, FatalError),
        (KafkaError.INVALID_MSG_SIZE, {"txn_requires_abort": True}, AbortableError),
        (KafkaError.INVALID_MSG_SIZE, {"retriable": True}, IndefiniteOutcomeError),
        (KafkaError.INVALID_MSG_SIZE, {}, FatalError),
        (KafkaError.UNKNOWN, {"txn_requires_abort": True}, IndefiniteOutcomeError),
    ],
)
def test_the_flags_of_an_error_decide_where_the_table_does_not(
    code: int, flags: dict[str, bool], expected: type[EosfwError]
) -> None:
    """PRD-08: a fatal error is never abortable; the table outweighs the wish for an abort."""
    assert type(eosfw_error(KafkaError(code, "why", **flags), COMMIT, "a call")) is expected


def test_an_error_inside_a_system_error_is_found() -> None:
    """The library wraps what it raises while a callback runs."""
    wrapped = SystemError("returned a result with an exception set")
    wrapped.__cause__ = KafkaException(KafkaError(codes.FENCED, "why"))

    error = kafka_error_of(wrapped)

    assert error is not None
    assert error.code() == codes.FENCED
    assert kafka_error_of(SystemError("something else")) is None


@pytest.mark.parametrize(
    ("table", "code", "remedy"),
    [
        (ADMIN, codes.TRANSPORT, "is bootstrap.servers right"),
        (SEND, KafkaError.MSG_SIZE_TOO_LARGE, "raise max.request.size"),
        (ABORT, KafkaError.INVALID_TXN_STATE, "close this producer and make another"),
    ],
)
def test_an_error_says_what_to_do_where_librdkafka_does_not(table: ErrorTable, code: int, remedy: str) -> None:
    """A record that librdkafka refuses is one of the broker to it, and its own slip a state of the producer."""
    assert remedy in str(eosfw_error(KafkaError(code), table, "call"))


def test_no_exception_of_the_library_leaves_a_call() -> None:
    """Protocols: the text says what was tried."""
    with pytest.raises(ProducerFencedError, match="commit of x: why"), translated_errors(COMMIT, "commit of x"):
        raise KafkaException(KafkaError(codes.FENCED, "why"))
