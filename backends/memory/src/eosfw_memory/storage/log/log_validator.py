"""Refuse the batches that Kafka refuses from a client. Kafka's `LogValidator`."""

from __future__ import annotations

from typing import Final, NoReturn

from eosfw_memory.common.log_errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    RecordListTooLargeError,
    StaleProducerEpochError,
    UnreadableRecordsError,
    UnsupportedCompressionTypeError,
)
from eosfw_memory.storage.log.log_config import ANY_AGE, LogConfig
from eosfw_memory.storage.log.producer_state import Origin
from eosfw_memory.storage.records.batch import (
    HEADER,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
)
from eosfw_memory.storage.records.codec import decode_records
from eosfw_memory.storage.records.compression import is_for_all, unpack
from eosfw_memory.storage.records.record_validation import RecordWalk

# zstd
_LAST_COMPRESSION: Final = 4
# A base timestamp and a delta can add up to more than 64 bits: Python's integers do not wrap.
_STAMPS: Final = range(-(2**63), 2**63)


def check(header: BatchHeader, config: LogConfig, origin: Origin) -> None:
    """Raise when a batch of this header may not be appended, whatever its records are."""
    check_size(header.size, config)
    check_fits(header.size, config)
    problem = _problem(header, origin)
    if problem is not None:
        raise InvalidRecordError(problem)
    if header.compression > _LAST_COMPRESSION:  # no reader could unpack it
        raise UnreadableRecordsError(f"compression type {header.compression} is unknown")
    if header.producer_epoch < NO_EPOCH and header.producer_id != NO_PRODUCER_ID:
        raise StaleProducerEpochError(f"producer {header.producer_id} writes with epoch {header.producer_epoch}")


def validate_records(batch: bytes, header: BatchHeader, config: LogConfig, now_ms: int, *, own: bool) -> int:
    """Raise when the records a client sent may not be appended; give their newest timestamp.

    Records that our `own` codec encoded agree with their header. They are checked only for what the header does not
    tell: keys, and the oldest timestamp.
    """
    known = own and not config.compacted and config.timestamp_before_max_ms >= ANY_AGE
    walk = None if known else _walked(batch, header, config)
    if walk is None:
        times = {header.max_timestamp}
    else:
        times = _times(header, walk)
        if config.compacted and walk.keyless:
            _refuse_keyless(batch, header, config, now_ms)
    if config.timestamp_type is TimestampType.CREATE_TIME:
        _check_times(times, config, now_ms)
    elif header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        raise InvalidTimestampError("a producer may not set the timestamp type to LogAppendTime: that is the broker's")
    # Kafka's maximum starts at -1: a batch of older records counts as one without timestamps.
    return max(times) if known else max(NO_TIMESTAMP, *times)


def check_size(size: int, config: LogConfig) -> None:
    """Raise MessageTooLargeError for a size above max.message.bytes."""
    if size > config.max_message_bytes:
        raise MessageTooLargeError(
            f"a record batch of {size} bytes exceeds max.message.bytes={config.max_message_bytes}: "
            "send smaller batches or raise the topic's limit"
        )


def check_fits(size: int, config: LogConfig) -> None:
    """Raise RecordListTooLargeError for a size above segment.bytes: such a batch fits in no segment."""
    if size > config.segment_bytes:
        raise RecordListTooLargeError(
            f"a record batch of {size} bytes exceeds segment.bytes={config.segment_bytes}: "
            "send smaller batches or raise the topic's limit"
        )


def _walked(batch: bytes, header: BatchHeader, config: LogConfig) -> RecordWalk | None:
    """Step over the records; None when they are packed in a way that nothing here can unpack, and need not be."""
    if not header.compression:
        return RecordWalk(batch, HEADER.size, header.records)
    data = batch[HEADER.size :]
    if not is_for_all(header.compression, data):
        raise UnreadableRecordsError("the lz4 blocks of a batch depend on each other, which Java's clients cannot read")
    try:
        plain = unpack(header.compression, data)
    except UnsupportedCompressionTypeError:
        if config.compacted:
            raise
        return None
    except CorruptMessageError as wrong:
        raise UnreadableRecordsError(str(wrong)) from wrong
    try:
        walk = RecordWalk(plain, 0, header.records)
    except UnreadableRecordsError as wrong:
        raise InvalidRecordError(str(wrong)) from None  # which Kafka says of packed records only
    if walk.shifted:  # Kafka would compress them again, and fails
        raise UnreadableRecordsError("the offsets of packed records do not count them")
    return walk


def _times(header: BatchHeader, walk: RecordWalk) -> set[int]:
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return {header.max_timestamp}
    # The walk gives deltas as they stand in the bytes (zigzag), each value once, so that few need decoding.
    return {header.base_timestamp + ((delta >> 1) ^ -(delta & 1)) for delta in walk.deltas}


def _problem(header: BatchHeader, origin: Origin) -> str | None:
    if header.control:
        return "a producer may not write control records: only coordinators end transactions"
    if header.records <= 0 or header.records != header.last_offset_delta + 1:
        return f"a record batch of {header.records} records spans {header.last_offset_delta + 1} offsets"
    if origin is Origin.CLIENT and header.base_offset != 0:
        return f"the base offset of a batch that is sent must be 0, not {header.base_offset}"
    if header.producer_id == NO_PRODUCER_ID:
        return None  # even if it calls itself transactional: Kafka takes it for a plain one
    if origin is Origin.CLIENT and header.base_sequence < 0:
        return f"producer {header.producer_id} sent a batch without a sequence number"
    return None


def _refuse_keyless(batch: bytes, header: BatchHeader, config: LogConfig, now_ms: int) -> NoReturn:
    """Raise for a record without key; like Kafka, first for a wrong timestamp of a record that has a key."""
    columns = decode_records(batch, header)
    if config.timestamp_type is TimestampType.CREATE_TIME:
        keyed = (time for key, time in zip(columns.keys, columns.timestamps, strict=True) if key is not None)
        _check_times(set(keyed), config, now_ms)
    raise InvalidRecordError("a compacted topic keeps the latest record of each key: this one came without a key")


def _check_times(times: set[int], config: LogConfig, now_ms: int) -> None:
    for time in times:
        if time == NO_TIMESTAMP:
            continue
        if time - now_ms > config.timestamp_after_max_ms or time not in _STAMPS:
            raise InvalidTimestampError(
                f"timestamp {time} lies {time - now_ms} ms ahead of the broker's clock, more than "
                f"message.timestamp.after.max.ms={config.timestamp_after_max_ms}"
            )
        if now_ms - time > config.timestamp_before_max_ms:
            raise InvalidTimestampError(
                f"timestamp {time} lies {now_ms - time} ms behind the broker's clock, more than "
                f"message.timestamp.before.max.ms={config.timestamp_before_max_ms}"
            )
