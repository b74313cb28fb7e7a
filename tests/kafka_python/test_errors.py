"""Each error of kafka-python has one class per call."""

from __future__ import annotations

import pytest
from kafka import errors as kafka_errors

from eosfw.error_table import ErrorTable
from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    InvalidProducerEpochError,
    InvalidTransactionTimeoutError,
    InvalidTxnStateError,
    ProducerFencedError,
    RecordTooLargeError,
    TopicExistsError,
    TransactionalIdNotFoundError,
)
from eosfw_kafka_python.errors import (
    ABORT,
    ADMIN,
    COMMIT,
    DELIVERY,
    FLUSH,
    INIT,
    READ,
    SEND,
    SEND_OFFSETS,
    TRANSACTIONS,
    eosfw_error,
    translated_errors,
)

EXPECTED: list[tuple[ErrorTable, Exception, type[EosfwError]]] = [
    (INIT, kafka_errors.KafkaTimeoutError(), IndefiniteOutcomeError),
    (INIT, kafka_errors.InvalidTransactionTimeoutError(), InvalidTransactionTimeoutError),
    (INIT, kafka_errors.ProducerFencedError(), ProducerFencedError),
    (SEND, kafka_errors.MessageSizeTooLargeError(), RecordTooLargeError),
    (SEND, kafka_errors.InvalidProducerEpochError(), ProducerFencedError),
    (SEND, kafka_errors.KafkaError("failed", kafka_errors.InvalidProducerEpochError()), ProducerFencedError),
    (DELIVERY, kafka_errors.InvalidProducerEpochError(), InvalidProducerEpochError),
    (FLUSH, kafka_errors.InvalidProducerEpochError(), ProducerFencedError),
    (FLUSH, kafka_errors.KafkaTimeoutError("Expiring 1 record(s)"), IndefiniteOutcomeError),
    (FLUSH, kafka_errors.TransactionAbortedError(), AbortableError),
    (COMMIT, kafka_errors.KafkaTimeoutError(), IndefiniteOutcomeError),
    # A password that was changed: a task goes on once it fits again, and what was under way may have happened.
    (COMMIT, kafka_errors.SaslAuthenticationFailedError(), IndefiniteOutcomeError),
    (FLUSH, kafka_errors.SaslAuthenticationFailedError(), IndefiniteOutcomeError),
    (INIT, kafka_errors.SaslAuthenticationFailedError(), IndefiniteOutcomeError),
    (ADMIN, kafka_errors.SaslAuthenticationFailedError(), ClusterUnavailableError),
    (READ, kafka_errors.SaslAuthenticationFailedError(), ClusterUnavailableError),
    (COMMIT, kafka_errors.KafkaConnectionError(), IndefiniteOutcomeError),
    (COMMIT, kafka_errors.ProducerFencedError(), ProducerFencedError),
    (COMMIT, kafka_errors.InvalidTxnStateError(), InvalidTxnStateError),
    (
        COMMIT,
        kafka_errors.KafkaError("Unhandled error in EndTxnResponse: [Error -1] UnknownError"),
        IndefiniteOutcomeError,
    ),
    (COMMIT, kafka_errors.KafkaError("something else"), FatalError),
    (SEND_OFFSETS, kafka_errors.CommitFailedError(), AbortableError),
    (SEND_OFFSETS, kafka_errors.FencedInstanceIdError(), AbortableError),
    (ABORT, kafka_errors.KafkaTimeoutError(), IndefiniteOutcomeError),
    (READ, kafka_errors.OffsetOutOfRangeError(), DamagedDataError),
    (READ, kafka_errors.CorruptRecordError(), DamagedDataError),
    (READ, kafka_errors.LogTruncationError({}), DamagedDataError),
    (READ, kafka_errors.KafkaConnectionError(), ClusterUnavailableError),
    (ADMIN, kafka_errors.TopicAlreadyExistsError(), TopicExistsError),
    (ADMIN, kafka_errors.KafkaConnectionError(), ClusterUnavailableError),
    (ADMIN, kafka_errors.InvalidConfigurationError(), ConfigError),
    (ADMIN, kafka_errors.KafkaConfigurationError(), ConfigError),
    (TRANSACTIONS, kafka_errors.TransactionalIdNotFoundError(), TransactionalIdNotFoundError),
]


@pytest.mark.parametrize(("table", "error", "expected"), EXPECTED, ids=lambda one: str(one)[:40])
def test_the_class_of_an_error_depends_on_its_call(
    table: ErrorTable, error: Exception, expected: type[EosfwError]
) -> None:
    """One code means different errors in different calls: after some the outcome is unknown."""
    reported = eosfw_error(error, table, "a call at 127.0.0.1:1")

    assert type(reported) is expected
    assert "127.0.0.1:1" in str(reported)


def test_an_error_that_ended_the_librarys_producer_is_fatal() -> None:
    """PRD-02: an abort would only raise."""
    error = kafka_errors.RebalanceInProgressError()

    assert type(eosfw_error(error, SEND_OFFSETS, "send_offsets")) is AbortableError
    assert type(eosfw_error(error, SEND_OFFSETS, "send_offsets", fatal=True)) is FatalError


def test_no_exception_of_the_library_leaves_a_call() -> None:
    """Common rules of the protocols: errors of eosfw pass unchanged."""
    with pytest.raises(ClusterUnavailableError), translated_errors(ADMIN, "list topics"):
        raise kafka_errors.NodeNotReadyError(0)
    with pytest.raises(IllegalStateError, match="closed while"), translated_errors(READ, "read"):
        raise RuntimeError("NetworkSelector closed!")
    with pytest.raises(TopicExistsError), translated_errors(ADMIN, "create topics"):
        raise TopicExistsError("t")
