"""Refuse an append or a fetch with the error code Kafka gives it."""

from __future__ import annotations

from typing import ClassVar

from eosfw_memory.common.codes import Code, KafkaError


class LogError(KafkaError):
    """A partition refuses; nothing was changed."""

    kafka_code: ClassVar[Code]

    def __init_subclass__(cls, code: Code) -> None:
        cls.kafka_code = code

    def __init__(self, message: str) -> None:
        super().__init__(self.kafka_code, message)


class CorruptMessageError(LogError, code=Code.CORRUPT_MESSAGE):
    """The bytes are not what their header, or their checksum, declares."""


class InvalidRecordError(LogError, code=Code.INVALID_RECORD):
    """The batch is whole, but a producer may not send such a one."""


class UnreadableRecordsError(LogError, code=Code.UNKNOWN_SERVER_ERROR):
    """Nothing can be made of the bytes; Kafka has no code for that, so producers see UnknownServerError."""


class InvalidTimestampError(LogError, code=Code.INVALID_TIMESTAMP):
    """The timestamps lie outside what the topic accepts, or claim to be the broker's."""


class MessageTooLargeError(LogError, code=Code.MESSAGE_TOO_LARGE):
    """The batch is larger than the topic accepts, or unpacks to more than a reader takes."""


class RecordListTooLargeError(LogError, code=Code.RECORD_LIST_TOO_LARGE):
    """The batch is larger than any segment of the topic."""


class UnsupportedCompressionTypeError(LogError, code=Code.UNSUPPORTED_COMPRESSION_TYPE):
    """The records are compressed in a way that no installed codec reads."""


class OffsetOutOfRangeError(LogError, code=Code.OFFSET_OUT_OF_RANGE):
    """The offset lies before the log start or behind its end."""


class StaleProducerEpochError(LogError, code=Code.INVALID_PRODUCER_EPOCH):
    """A newer holder of the producer id has written here (BRK-01)."""


class OutOfOrderSequenceNumberError(LogError, code=Code.OUT_OF_ORDER_SEQUENCE_NUMBER):
    """A batch before this one is missing, or this one is older than what is remembered (BRK-02)."""


class NonTransactionalBatchError(LogError, code=Code.INVALID_TXN_STATE):
    """A batch outside any transaction came while one of its producer is open (BRK-04)."""


class TransactionCoordinatorFencedError(LogError, code=Code.TRANSACTION_COORDINATOR_FENCED):
    """The marker comes from a coordinator that was replaced (BRK-05)."""


class KafkaStorageError(LogError, code=Code.KAFKA_STORAGE_ERROR):
    """The disk failed; a data directory accepts nothing any more until the broker starts again."""
