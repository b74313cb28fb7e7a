"""The records of a fetch that a reader may see, as Kafka's `CompletedFetch` filters them (KIP-98)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, TypeVar

from eosfw.ids import TopicPartition
from eosfw.records import Headers, LogBatch, OffsetRange
from eosfw_memory.storage.records.batch import BatchHeader, Buffer, split
from eosfw_memory.storage.records.codec import RecordColumns, decode_records
from eosfw_memory.storage.records.markers import result_of
from eosfw_memory.storage.records.transaction_result import TransactionResult

B = TypeVar("B")
VisibleBatch = tuple[BatchHeader, memoryview]
ToColumns = Callable[[TopicPartition, Sequence[VisibleBatch], OffsetRange], list[LogBatch]]
"""Decodes visible batches, of the records within a range of offsets."""


@dataclass(slots=True)
class FetchedBatches(Generic[B]):
    """What a reader takes from a fetch of one partition, and the position behind it."""

    batches: list[B]
    position: int


class _AbortedProducers:
    """The producers with an aborted transaction at the current offset."""

    def __init__(self, aborted: Iterable[Mapping[str, Any]]) -> None:
        pending = [(each["first_offset"], each["producer_id"]) for each in aborted]
        self._pending = sorted(pending, key=itemgetter(0), reverse=True)
        self._now: set[int] = set()

    def reach(self, offset: int) -> None:
        while self._pending and self._pending[-1][0] <= offset:
            self._now.add(self._pending.pop()[1])

    def end(self, producer_id: int) -> None:
        self._now.discard(producer_id)

    def is_aborted(self, header: BatchHeader) -> bool:
        return header.transactional and header.producer_id in self._now


def visible_records(
    where: TopicPartition, fetched: Mapping[str, Any], wanted: OffsetRange, to_columns: ToColumns
) -> FetchedBatches[LogBatch]:
    """The visible records of a fetch within a range of offsets; the position also moves over invisible ones."""
    visible: list[VisibleBatch] = []
    position = wanted.start
    aborted_producers = _AbortedProducers(fetched["aborted_transactions"] or ())
    for header, batch in fetched_batches(fetched):
        if header.last_offset < position:
            continue
        if position >= wanted.end:
            break
        aborted_producers.reach(header.last_offset)
        if header.control:
            if transaction_result(batch, header) is TransactionResult.ABORT:
                aborted_producers.end(header.producer_id)
        elif not aborted_producers.is_aborted(header):
            visible.append((header, batch))
        position = header.last_offset + 1
    return FetchedBatches(to_columns(where, visible, wanted), position)


def fetched_batches(fetched: Mapping[str, Any]) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The whole batches of a fetch; a socket delivers them in one piece, a handler as a sequence of slices."""
    records = fetched["records"]
    return split(records if isinstance(records, bytes) else b"".join(records or ()))


def transaction_result(batch: Buffer, header: BatchHeader) -> TransactionResult | None:
    """How a control batch ends a transaction; None if it ends none."""
    keys = decode_records(batch, header).keys  # a batch that compaction has emptied has no key
    return result_of(keys[0] or b"") if keys else None


def decode_to_lists(
    where: TopicPartition, visible: Sequence[VisibleBatch], wanted: OffsetRange, *, headers: bool
) -> list[LogBatch]:
    """Columns of Python objects."""
    columns = []
    for header, batch in visible:
        inside = _inside(decode_records(batch, header), wanted)
        if len(inside):
            columns.append((int(header.timestamp_type), inside))
    return [_joined(where, kind, every, headers=headers) for kind, every in _runs(columns)]


def _inside(found: RecordColumns, wanted: OffsetRange) -> RecordColumns:
    offsets, start, end = found.offsets, wanted.start, wanted.end
    if not offsets or (offsets[0] >= start and offsets[-1] < end):
        return found
    low, high = bisect_left(offsets, start), bisect_left(offsets, end)
    headers = None if found.headers is None else found.headers[low:high]
    return RecordColumns(
        offsets[low:high], found.timestamps[low:high], found.keys[low:high], found.values[low:high], headers
    )


def _runs(columns: Sequence[tuple[int, RecordColumns]]) -> Iterator[tuple[int, list[RecordColumns]]]:
    """Consecutive batches with the same type of timestamps."""
    run: list[RecordColumns] = []
    kind = 0
    for its_kind, each in columns:
        if run and its_kind != kind:
            yield kind, run
            run = []
        kind = its_kind
        run.append(each)
    if run:
        yield kind, run


def _joined(where: TopicPartition, kind: int, every: list[RecordColumns], *, headers: bool) -> LogBatch:
    shown: list[Headers] | None = None
    if headers:
        shown = [pairs for each in every for pairs in (each.headers or [()] * len(each))]
    return LogBatch(
        where.topic,
        where.partition,
        _chained(every, lambda each: each.offsets),
        _chained(every, lambda each: each.keys),
        _chained(every, lambda each: each.values),
        _chained(every, lambda each: each.timestamps),
        shown,
        kind,
    )


def _chained(every: list[RecordColumns], column: Callable[[RecordColumns], Sequence[Any]]) -> Sequence[Any]:
    if len(every) == 1:
        return column(every[0])
    joined: list[Any] = []
    for each in every:
        joined += column(each)
    return joined
