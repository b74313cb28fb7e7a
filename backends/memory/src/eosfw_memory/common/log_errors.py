"""Refuse an append or a fetch with the error code Kafka gives it."""

from __future__ import annotations

from typing import ClassVar

from eosfw_memory.common.codes import Code, KafkaError


class LogError(KafkaError):
    """A partition refuses; nothing was changed."""

    kafka_code: ClassVar[Code] = Code.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str) -> None:
        super().__init__(self.kafka_code, message)


class CorruptMessageError(LogError):
    """The bytes are not what their header, or their checksum, declares."""

    kafka_code = Code.CORRUPT_MESSAGE


class InvalidRecordError(LogError):
    """The batch is whole, but a producer may not send such a one."""

    kafka_code = Code.INVALID_RECORD


class UnreadableRecordsError(LogError):
    """Nothing can be made of the bytes; Kafka has no code for that, so producers see UnknownServerError."""


class InvalidTimestampError(LogError):
    """The timestamps lie outside what the topic accepts, or claim to be the broker's."""

    kafka_code = Code.INVALID_TIMESTAMP


class MessageTooLargeError(LogError):
    """The batch is larger than the topic accepts, or unpacks to more than a reader takes."""

    kafka_code = Code.MESSAGE_TOO_LARGE


class RecordListTooLargeError(LogError):
    """The batch is larger than any segment of the topic."""

    kafka_code = Code.RECORD_LIST_TOO_LARGE


class UnsupportedCompressionTypeError(LogError):
    """The records are compressed in a way that no installed codec reads."""

    kafka_code = Code.UNSUPPORTED_COMPRESSION_TYPE


class OffsetOutOfRangeError(LogError):
    """The offset lies before the log start or behind its end."""

    kafka_code = Code.OFFSET_OUT_OF_RANGE


class StaleProducerEpochError(LogError):
    """A newer holder of the producer id has written here (BRK-01)."""

    kafka_code = Code.INVALID_PRODUCER_EPOCH


class OutOfOrderSequenceNumberError(LogError):
    """A batch before this one is missing, or this one is older than what is remembered (BRK-02)."""

    kafka_code = Code.OUT_OF_ORDER_SEQUENCE_NUMBER


class NonTransactionalBatchError(LogError):
    """A batch outside any transaction came while one of its producer is open (BRK-04)."""

    kafka_code = Code.INVALID_TXN_STATE


class TransactionCoordinatorFencedError(LogError):
    """The marker comes from a coordinator that was replaced (BRK-05)."""

    kafka_code = Code.TRANSACTION_COORDINATOR_FENCED


class KafkaStorageError(LogError):
    """The disk failed, so nothing is accepted any more until the broker starts again."""

    kafka_code = Code.KAFKA_STORAGE_ERROR
