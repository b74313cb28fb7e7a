"""The visible records of a fetch as columns that Arrow takes as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from eosfw.ids import TopicPartition
from eosfw.records import LogBatch, OffsetRange
from eosfw_memory.client.consumer.fetched_records import VisibleBatch
from eosfw_memory.storage.records.arrow_codec import decode_to_arrow
from eosfw_memory.storage.records.batch import BatchHeader, Buffer, TimestampType
from eosfw_memory.storage.records.codec import record_bytes

_BYTES: Final = 32 << 20
"""Bytes after which decoding begins, so that many compressed batches do not lie in memory unpacked."""


def decode_to_columns(
    where: TopicPartition, visible: Sequence[VisibleBatch], wanted: OffsetRange, *, headers: bool
) -> list[LogBatch]:
    """Keys and values as binary arrays of pyarrow, offsets and timestamps as memoryviews of 64-bit numbers."""
    found = []
    for kind, batches in _groups(visible):
        columns = decode_to_arrow(batches, headers=headers).between(wanted.start, wanted.end)
        if len(columns):
            offsets, timestamps = memoryview(columns.offsets), memoryview(columns.timestamps)
            keys, values = columns.keys, columns.values
            found.append(LogBatch(*where, offsets, keys, values, timestamps, columns.headers, int(kind)))
    return found


def _groups(visible: Sequence[VisibleBatch]) -> Iterator[tuple[TimestampType, list[tuple[BatchHeader, Buffer]]]]:
    """Consecutive batches with the same type of timestamps, without those that compaction has emptied."""
    group: list[tuple[BatchHeader, Buffer]] = []
    kind, size = TimestampType.CREATE_TIME, 0
    for header, batch in visible:
        if group and (header.timestamp_type is not kind or size >= _BYTES):
            yield kind, group
            group, size = [], 0
        records = record_bytes(batch, header)
        if header.records > 0 or len(records):
            kind, size = header.timestamp_type, size + len(records)
            group.append((header, records))
    if group:
        yield kind, group
