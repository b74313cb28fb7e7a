"""Refuse the batches that Kafka refuses from a client, by their headers alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eosfw_memory.log.batch import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    TimestampType,
)
from eosfw_memory.log.codec import decode_records
from eosfw_memory.log.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    RecordListTooLargeError,
    UnsupportedCompressionTypeError,
)
from eosfw_memory.log.producer_state import Origin

_LAST_COMPRESSION: Final = 4


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The properties of a topic that decide what its partitions accept; the defaults are Kafka's."""

    max_message_bytes: int = 1_048_588
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = 2**63 - 1
    timestamp_after_max_ms: int = 3_600_000
    compacted: bool = False
    """Old values of a key are removed, so every record needs a key."""
    deleted: bool = True
    """Old segments are removed."""
    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    min_dirty_ratio: float = 0.5


def check(header: BatchHeader, config: LogConfig, now_ms: int, origin: Origin) -> None:
    """Raise when a batch of this header may not be appended."""
    check_size(header.size, config)
    check_fits(header.size, config)
    problem = _problem(header, origin)
    if problem is not None:
        raise InvalidRecordError(problem)
    if header.compression > _LAST_COMPRESSION:  # nobody could ever read it
        raise UnsupportedCompressionTypeError(f"compression type {header.compression} is unknown")
    if config.timestamp_type is TimestampType.CREATE_TIME:
        _check_timestamps(header, config, now_ms)


def check_size(size: int, config: LogConfig) -> None:
    """Raise when a batch of so many bytes may not be appended."""
    if size > config.max_message_bytes:
        raise MessageTooLargeError(
            f"a record batch of {size} bytes exceeds max.message.bytes={config.max_message_bytes}: "
            "send smaller batches or raise the topic's limit"
        )


def check_fits(size: int, config: LogConfig) -> None:
    """Raise when a batch of so many bytes fits in no segment."""
    if size > config.segment_bytes:
        raise RecordListTooLargeError(
            f"a record batch of {size} bytes exceeds segment.bytes={config.segment_bytes}: "
            "send smaller batches or raise the topic's limit"
        )


def check_keys(batch: Buffer, header: BatchHeader, origin: Origin) -> None:
    """Raise when a record that a client sent to a compacted topic has no key."""
    if origin is Origin.CLIENT and None in decode_records(batch, header).keys:
        raise InvalidRecordError("a compacted topic keeps the latest record of each key: this one came without a key")


def _problem(header: BatchHeader, origin: Origin) -> str | None:
    if header.control:
        return "a producer may not write control records: only coordinators end transactions"
    if header.records <= 0 or header.records != header.last_offset_delta + 1:
        return f"a record batch of {header.records} records spans {header.last_offset_delta + 1} offsets"
    if origin is Origin.CLIENT and header.base_offset != 0:
        return f"the base offset of a batch that is sent must be 0, not {header.base_offset}"
    if header.producer_id == NO_PRODUCER_ID:
        return None  # even if it calls itself transactional: Kafka takes it for a plain one
    if origin is Origin.CLIENT and (header.base_sequence < 0 or header.producer_epoch < 0):
        return f"producer {header.producer_id} sent a batch without a sequence number or without an epoch"
    return None


def _check_timestamps(header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    """Judge by the largest timestamp, which the header holds; Kafka unpacks every record for this."""
    newest = header.max_timestamp
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        raise InvalidTimestampError("a producer may not set the timestamp type to LogAppendTime: that is the broker's")
    if newest == NO_TIMESTAMP:
        return
    if newest - now_ms > config.timestamp_after_max_ms:
        raise InvalidTimestampError(
            f"timestamp {newest} lies {newest - now_ms} ms ahead of the broker's clock, more than "
            f"message.timestamp.after.max.ms={config.timestamp_after_max_ms}"
        )
    if now_ms - newest > config.timestamp_before_max_ms:
        raise InvalidTimestampError(
            f"timestamp {newest} lies {now_ms - newest} ms behind the broker's clock, more than "
            f"message.timestamp.before.max.ms={config.timestamp_before_max_ms}"
        )
