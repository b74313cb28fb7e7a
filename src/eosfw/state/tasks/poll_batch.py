"""Hold what a poll returned as columns, with the source partition and source offset of each record."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from operator import is_
from typing import Any, TypeVar, overload

from eosfw.data import ArrowValues, Schema, StructColumns, is_arrow, schema_of
from eosfw.records import ProducerBatch, SourceBatch, SourceOffset, SourcePartition, SourceRecord

T = TypeVar("T")
SourcePosition = tuple[SourcePartition, SourceOffset]
"""A source partition with the offset after what was read of it."""


# Not frozen: a source that alternates between topics has one for each record, and a frozen one takes longer to make.
@dataclass(slots=True)
class PollBatch:
    """Records of one poll for one topic; every layer below a task's poll takes only these.

    Its length counts what poll returned, records that a transform dropped included: they are not in `columns`, but
    their offsets commit, boundaries ask for them, and `commit_record` hears of them. Nobody changes a batch once it is
    made.
    """

    columns: ProducerBatch
    """What is sent to the topic: records as transforms left them, without those that were dropped."""
    source_partitions: Sequence[SourcePartition]
    """The source partition of each record."""
    source_offsets: Sequence[SourceOffset] | None
    """The offset after each record; None if the source stated only the offset after the last."""
    positions: Sequence[SourcePosition]
    """Where the source resumes after the batch, in the order of reading: the last entry for a partition counts."""
    source_records: Sequence[SourceRecord] | None = None
    """The objects that poll returned, which a task names in its requests; None if it returned columns.

    After transforms always given, since `columns` does not hold what poll returned any more.
    """
    kept: Sequence[int] | None = None
    """Where each record of `columns` is among what poll returned, ascending; None if no record was dropped."""

    @classmethod
    def from_source_batch(cls, batch: SourceBatch) -> PollBatch:
        """Take the columns as they are."""
        values, value_schema = _columns_of(batch.values, batch.value_schema)
        keys, key_schema = (None, batch.key_schema) if batch.keys is None else _columns_of(batch.keys, batch.key_schema)
        columns = ProducerBatch(
            batch.topic,
            values,
            keys,
            batch.partition,
            batch.timestamps,
            batch.headers,
            key_schema,
            value_schema,
        )
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
            columns = ProducerBatch.of_one(first, first.key_schema, first.value_schema)
            return cls(columns, position[:1], position[1:], (position,), records)
        partitions = [record.source_partition for record in records]
        offsets = [record.source_offset for record in records]
        return cls(_columns(records), partitions, offsets, _positions(partitions, offsets), records)

    def __len__(self) -> int:
        return len(self.source_partitions)

    def part(self, start: int, end: int) -> PollBatch:
        """The records from `start` up to `end`; a real part needs `source_offsets`."""
        if start == 0 and end == len(self):
            return self

        partitions, offsets = self.source_partitions[start:end], (self.source_offsets or ())[start:end]
        first, last, kept = start, end, None
        if self.kept is not None:
            first, last = bisect_left(self.kept, start), bisect_left(self.kept, end)
            kept = [at - start for at in self.kept[first:last]]
        columns = changed_columns(self.columns, lambda column: column[first:last])
        positions = _positions(partitions, offsets)
        return PollBatch(columns, partitions, offsets, positions, _cut(self.source_records, start, end), kept)

    def transformed(self, results: Sequence[SourceRecord | None]) -> list[PollBatch]:
        """The batches to send once transforms made `results` of `columns`, in their order; None is a dropped record.

        Source partitions and offsets stay those of the records that poll returned.
        """
        if self.kept is not None:
            made = dict(zip(self.kept, results, strict=True))
            results = [made.get(at) for at in range(len(self))]
        returned = self if self.source_records is not None else replace(self, source_records=list(self.records()))
        starts = _starts(results)
        return [
            returned._with_results(start, results[start:end])  # noqa: SLF001 of its own class
            for start, end in zip(starts, [*starts[1:], len(results)], strict=True)
        ]

    def _with_results(self, start: int, results: Sequence[SourceRecord | None]) -> PollBatch:
        end = start + len(results)
        kept = [at for at, result in enumerate(results) if result is not None]
        sent = [result for result in results if result is not None]
        partitions, offsets = self.source_partitions[start:end], _cut(self.source_offsets, start, end)
        positions = self.positions  # as poll stated them: they may lie behind the last record
        if end < len(self):
            positions = () if offsets is None else _positions(partitions, offsets)
        columns = _columns(sent) if sent else ProducerBatch(self.columns.topic, ())
        records = _cut(self.source_records, start, end)
        return PollBatch(columns, partitions, offsets, positions, records, None if len(sent) == len(results) else kept)

    def with_columns(self, columns: ProducerBatch, kept: Sequence[int] | None) -> PollBatch:
        """The batch with other columns, for the records at `kept`; None for all of them."""
        # Made only if somebody asks: most sources of columns have no `commit_record`, and no boundary of their own.
        records = _LazyRecords(self) if self.source_records is None else self.source_records
        kept = None if kept is None or len(kept) == len(self) else kept
        return PollBatch(columns, self.source_partitions, self.source_offsets, self.positions, records, kept)

    def kept_of(self, column: Sequence[T]) -> Sequence[T]:
        """Of a column with an entry for each record that poll returned, the entries of those that are sent."""
        return column if self.kept is None else [column[at] for at in self.kept]

    def records(self) -> Iterator[SourceRecord]:
        """The records that poll returned one by one, for code that takes no columns: callbacks, listings."""
        if self.source_records is not None:
            yield from self.source_records
            return
        yield from self.sent_records()

    def sent_records(self) -> Iterator[SourceRecord]:
        """The records one by one as they are sent, with source partition and offset."""
        offsets = repeat(self.positions[-1][1]) if self.source_offsets is None else self.kept_of(self.source_offsets)
        partitions = self.kept_of(self.source_partitions)
        for record, partition, offset in zip(self.columns.records(), partitions, offsets, strict=False):
            yield SourceRecord(
                record.topic,
                record.value,
                record.key,
                partition,
                offset,
                record.partition,
                record.timestamp,
                record.headers,
                self.columns.key_schema,
                self.columns.value_schema,
            )


class _LazyRecords(Sequence[SourceRecord]):
    """The records of a batch of columns, made when somebody asks for one."""

    def __init__(self, batch: PollBatch) -> None:
        self._batch = batch
        self._made: list[SourceRecord] | None = None

    def __len__(self) -> int:
        return len(self._batch)

    @overload
    def __getitem__(self, at: int) -> SourceRecord: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[SourceRecord]: ...
    def __getitem__(self, at: int | slice) -> SourceRecord | Sequence[SourceRecord]:
        if self._made is None:
            self._made = list(self._batch.records())
        return self._made[at]


def batches_of(records: Sequence[SourceRecord]) -> list[PollBatch]:
    """Batches of consecutive records with one topic, partition and schemas, which have a timestamp or have none."""
    if records and _have_one_destination(records):
        return [PollBatch.from_records(list(records))]
    return [PollBatch.from_records(list(run)) for _, run in groupby(records, _destination)]


def _columns_of(values: Any, schema: Schema | None) -> tuple[Sequence[Any], Schema | None]:
    """Keys or values of a batch and their schema; what is Arrow's brings its own, if the task states none."""
    if not is_arrow(values):
        return values, schema
    if hasattr(values, "schema"):
        return StructColumns.of_arrow(values), schema or schema_of(values.schema)
    return ArrowValues(values), schema or schema_of(values.type).as_optional()


def _destination(record: SourceRecord) -> tuple[str, int | None, bool, Schema | None, Schema | None]:
    return record.topic, record.partition, record.timestamp is None, record.key_schema, record.value_schema


def _have_one_destination(records: Sequence[SourceRecord]) -> bool:
    """Whether it is seen without comparing what is the same object; sources mostly give one for all records."""
    topic, partition, unstamped, key_schema, value_schema = _destination(records[0])
    # Written out in one loop: a call and a tuple for each record would take as long as all other checks of a poll.
    for one in records:
        if (
            one.topic is not topic
            or one.partition is not partition
            or (one.timestamp is None) is not unstamped
            or one.key_schema is not key_schema
            or one.value_schema is not value_schema
        ):
            return False
    return True


def _columns(records: Sequence[SourceRecord]) -> ProducerBatch:
    """Records with one destination as columns."""
    first = records[0]
    keys = [record.key for record in records]
    headers = [record.headers for record in records]
    return ProducerBatch(
        first.topic,
        [record.value for record in records],
        None if keys.count(None) == len(keys) else keys,
        first.partition,
        None if first.timestamp is None else [record.timestamp or 0 for record in records],
        headers if any(headers) else None,
        first.key_schema,
        first.value_schema,
    )


def changed_columns(whole: ProducerBatch, change: Callable[[Sequence[Any]], Sequence[Any]]) -> ProducerBatch:
    """A batch with the same change made to each of its columns."""
    keys, stamps, headers = (
        None if one is None else change(one) for one in (whole.keys, whole.timestamps, whole.headers)
    )
    return replace(whole, values=change(whole.values), keys=keys, timestamps=stamps, headers=headers)


def _cut(column: Sequence[T] | None, start: int, end: int) -> Sequence[T] | None:
    return None if column is None else column[start:end]


def _starts(results: Sequence[SourceRecord | None]) -> list[int]:
    """Where batches begin: at the first record, and wherever the destination changes; dropped records have none."""
    starts, before = [0], None
    for at, result in enumerate(results):
        if result is not None:
            destination = _destination(result)
            if before is not None and destination != before:
                starts.append(at)
            before = destination
    return starts


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
