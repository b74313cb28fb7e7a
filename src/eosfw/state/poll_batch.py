"""Hold what a poll returned as columns, with the source partition and source offset of each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import is_
from typing import TypeVar

from eosfw.records import ProducerBatch, SourceBatch, SourceOffset, SourcePartition, SourceRecord

T = TypeVar("T")
SourcePosition = tuple[SourcePartition, SourceOffset]
"""A source partition with the offset after what was read of it."""


# Not frozen: a source that alternates between topics has one for each record, and a frozen one takes longer to make.
@dataclass(slots=True)
class PollBatch:
    """Records of one poll for one topic; every layer below a task's poll takes only these.

    Nobody changes a batch once it is made.
    """

    columns: ProducerBatch
    """What is sent to the topic."""
    source_partitions: Sequence[SourcePartition]
    """The source partition of each record."""
    source_offsets: Sequence[SourceOffset] | None
    """The offset after each record; None if the source stated only the offset after the last."""
    positions: Sequence[SourcePosition]
    """Where the source resumes after the batch, in the order of reading: the last entry for a partition counts."""
    source_records: Sequence[SourceRecord] | None = None
    """The objects that poll returned, which a task names in its requests; None if it returned columns."""

    @classmethod
    def from_source_batch(cls, batch: SourceBatch) -> PollBatch:
        """Take the columns as they are."""
        columns = ProducerBatch(batch.topic, batch.values, batch.keys, batch.partition, batch.timestamps, batch.headers)
        offsets = batch.source_offsets
        if offsets is None and len(batch) <= 1:
            offsets = [batch.source_offset] * len(batch)
        position = (batch.source_partition, batch.source_offset)
        return cls(columns, [batch.source_partition] * len(batch), offsets, [position])

    @classmethod
    def from_records(cls, records: Sequence[SourceRecord]) -> PollBatch:
        """Make columns of records for one partition of one topic, all with a timestamp or all without."""
        first = records[0]
        if len(records) == 1:  # a source that alternates between topics has batches of one
            position = (first.source_partition, first.source_offset)
            return cls(ProducerBatch.of_one(first), position[:1], position[1:], (position,), records)
        keys = [record.key for record in records]
        headers = [record.headers for record in records]
        columns = ProducerBatch(
            first.topic,
            [record.value for record in records],
            None if keys.count(None) == len(keys) else keys,
            first.partition,
            None if first.timestamp is None else [record.timestamp or 0 for record in records],
            headers if any(headers) else None,
        )
        partitions = [record.source_partition for record in records]
        offsets = [record.source_offset for record in records]
        return cls(columns, partitions, offsets, _positions(partitions, offsets), records)

    def __len__(self) -> int:
        return len(self.source_partitions)

    def part(self, start: int, end: int) -> PollBatch:
        """The records from `start` up to `end`; a real part needs `source_offsets`."""
        if start == 0 and end == len(self):
            return self

        def cut(column: Sequence[T] | None) -> Sequence[T] | None:
            return None if column is None else column[start:end]

        whole, offsets = self.columns, (self.source_offsets or ())[start:end]
        columns = ProducerBatch(
            whole.topic,
            whole.values[start:end],
            cut(whole.keys),
            whole.partition,
            cut(whole.timestamps),
            cut(whole.headers),
        )
        partitions = self.source_partitions[start:end]
        return PollBatch(columns, partitions, offsets, _positions(partitions, offsets), cut(self.source_records))

    def records(self) -> Iterator[SourceRecord]:
        """The records one by one, for code that takes no columns: callbacks, listings."""
        if self.source_records is not None:
            yield from self.source_records
            return
        offsets = repeat(self.positions[-1][1]) if self.source_offsets is None else self.source_offsets
        for record, partition, offset in zip(self.columns.records(), self.source_partitions, offsets, strict=False):
            yield SourceRecord(
                record.topic,
                record.value,
                record.key,
                partition,
                offset,
                record.partition,
                record.timestamp,
                record.headers,
            )


def batches_of(records: Sequence[SourceRecord]) -> list[PollBatch]:
    """Batches of consecutive records that have topic and partition in common, and have a timestamp or have none."""
    return [PollBatch.from_records(list(run)) for _, run in groupby(records, _destination)]


def _destination(record: SourceRecord) -> tuple[str, int | None, bool]:
    return record.topic, record.partition, record.timestamp is None


def _positions(partitions: Sequence[SourcePartition], offsets: Sequence[SourceOffset]) -> list[SourcePosition]:
    if not partitions:
        return []
    # By identity: sources mostly give one object for all records, and comparing mappings costs more.
    if all(map(is_, partitions, repeat(partitions[0]))):
        return [(partitions[0], offsets[-1])]
    behind = [*partitions[1:], None]
    return [
        (partition, offset)
        for partition, offset, following in zip(partitions, offsets, behind, strict=True)
        if following is not partition
    ]
