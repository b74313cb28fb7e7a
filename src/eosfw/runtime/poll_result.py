"""Check what a connector's poll returned, turn it into columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eosfw.errors import TaskFailedError
from eosfw.records import Headers, ProducerBatch, SourceBatch, SourceOffset, SourceRecord
from eosfw.runtime.record_validation import all_valid, validation_error

Batches = Sequence[SourceBatch]
Records = Sequence[SourceRecord]
MAX_RECORDS_PER_POLL = 1_000_000
"""Records that one poll may return: they must fit into memory, and into one transaction, together."""


def read_poll_result(polled: Any, task: object) -> Batches | Records:
    """All batches, or all records, that a poll returned; TaskFailedError names what is neither."""
    if polled is None:
        return ()
    if isinstance(polled, SourceBatch):
        polled = (polled,)
    if not isinstance(polled, Sequence) or isinstance(polled, (str, bytes)):
        raise TaskFailedError(
            f"poll of task {task} returned a {type(polled).__name__}; it must return a list of SourceRecord, "
            f"a SourceBatch, a list of those, or None"
        )
    if polled:
        _check_count(polled, task)
        _check(polled, type(polled[0]), task)
    return polled


def has_records(polled: Batches | Records) -> bool:
    """Whether a poll gave records; an empty batch only tells of a source's offset."""
    return any(not isinstance(one, SourceBatch) or len(one) for one in polled)


def _check_count(polled: Sequence[Any], task: object) -> None:
    count = len(polled)
    if count <= MAX_RECORDS_PER_POLL and isinstance(polled[0], SourceBatch):
        count = sum(len(one) for one in polled if isinstance(one, SourceBatch))
    if count > MAX_RECORDS_PER_POLL:
        raise TaskFailedError(
            f"poll of task {task} returned {count} records at once; return at most {MAX_RECORDS_PER_POLL}, "
            f"the rest with later polls"
        )


def _check(polled: Sequence[Any], kind: type, task: object) -> None:
    if all_valid(polled):
        return
    for index, item in enumerate(polled):
        if not isinstance(item, (SourceRecord, SourceBatch)):
            raise TaskFailedError(
                f"poll of task {task} returned a {type(item).__name__} at index {index}: {item!r:.80}; "
                f"it must be a SourceRecord or a SourceBatch"
            )
        if type(item) is not kind:
            raise TaskFailedError(
                f"poll of task {task} returned records beside batches (index {index}); return one kind at a time"
            )
        if wrong := validation_error(item):
            raise TaskFailedError(f"poll of task {task}: the {type(item).__name__} at index {index} {wrong}")


def records_of(batch: SourceBatch, task: object) -> Iterator[SourceRecord]:
    """A batch record by record, each with its own offset."""
    return _split(batch, offsets_of(batch, task))


def whole(batch: SourceBatch) -> Iterator[SourceRecord]:
    """A batch record by record, each with the offset behind all of them."""
    return _split(batch, [batch.source_offset] * len(batch))


def _split(batch: SourceBatch, offsets: Sequence[SourceOffset]) -> Iterator[SourceRecord]:
    for index, (value, offset) in enumerate(zip(batch.values, offsets, strict=True)):
        yield SourceRecord(
            batch.topic,
            value,
            None if batch.keys is None else batch.keys[index],
            batch.source_partition,
            offset,
            batch.partition,
            None if batch.timestamps is None else batch.timestamps[index],
        )


def tells_apart(batch: SourceBatch) -> bool:
    """Whether each record has an offset of its own; a batch of one may leave it to the batch's."""
    return batch.source_offsets is not None or len(batch) <= 1


def offsets_of(batch: SourceBatch, task: object) -> Sequence[SourceOffset]:
    """The offset behind each record; TaskFailedError where a batch cannot tell its records apart."""
    if batch.source_offsets is not None:
        return batch.source_offsets
    if not tells_apart(batch):
        raise TaskFailedError(
            f"task {task} returned a SourceBatch without `source_offsets`, though its context asks for "
            f"`record_offsets`: without them records cannot be told apart; have the connector return them, or set "
            f'"eosfw.identity" to "none", "value" or "field:NAME"'
        )
    return [batch.source_offset] * len(batch)


def columns(batch: SourceBatch, headers: Sequence[Headers] | None = None) -> ProducerBatch:
    """What of a batch goes to its topic."""
    return ProducerBatch(batch.topic, batch.values, batch.keys, batch.partition, batch.timestamps, headers)


def runs(records: Records, *, headers: bool = False) -> Iterator[list[SourceRecord]]:
    """Records that can travel as one batch: in order, one topic, one partition; without headers unless batches do."""
    run: list[SourceRecord] = []
    for record in records:
        if run and not _together(run[0], record, headers=headers):
            yield run
            run = []
        run.append(record)
    if run:
        yield run


def _together(first: SourceRecord, record: SourceRecord, *, headers: bool) -> bool:
    return (
        record.topic == first.topic
        and record.partition == first.partition
        and (headers or not (record.headers or first.headers))
        and (record.timestamp is None) == (first.timestamp is None)
    )


def columns_of(run: Records, headers: Sequence[Headers] | None = None) -> ProducerBatch:
    """Records of a run as columns."""
    first = run[0]
    stamped = first.timestamp is not None
    return ProducerBatch(
        first.topic,
        [record.value for record in run],
        [record.key for record in run] if any(record.key is not None for record in run) else None,
        first.partition,
        [record.timestamp or 0 for record in run] if stamped else None,
        headers,
    )
