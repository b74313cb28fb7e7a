"""How much of what is new one micro-batch takes (`rateLimit`, `delayBatch` of Spark's `KafkaMicroBatchStream`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eosfw.ids import TopicPartition
from eosfw.records import LogBatch, OffsetRange
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.options import ReadLimits

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit


def new_offsets(start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """How many offsets each partition has beyond `start`; one that `start` lacks begins at 0, as it was created."""
    sizes = {each: end - start.get(each, 0) for each, end in latest.items()}
    return {each: size for each, size in sizes.items() if size > 0}


def shares(limit: int, sizes: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Divide a limit among partitions in proportion to what they have; none gets less than 1, so that none starves."""
    total = sum(sizes.values())
    return {each: max(1, limit * size // total) for each, size in sizes.items()}


def rate_limit(limit: int, start: Offsets, latest: Offsets) -> Offsets:
    """The ends of a batch of about `limit` offsets. Control records count, so that every batch advances."""
    share = shares(limit, new_offsets(start, latest))
    return {
        each: min(end, start.get(each, 0) + share[each]) if each in share else max(end, start.get(each, 0))
        for each, end in latest.items()
    }


def delay_batch(limits: ReadLimits, start: Offsets, latest: Offsets, waited: float) -> bool:
    """Whether there is too little for a batch yet; `waited` is how long ago the last one began."""
    if limits.min_offsets is None or waited >= limits.max_delay:
        return False
    return sum(new_offsets(start, latest).values()) < limits.min_offsets


def end_within(batches: Iterable[LogBatch], offsets: OffsetRange, max_bytes: int) -> int:
    """The offset up to which the records of a range fit into so many bytes, but always beyond its start."""
    position, used = offsets.start, 0
    for each in batches:
        for offset, size in zip(each.offsets, _sizes(each), strict=True):
            used += size
            if used > max_bytes and position > offsets.start:
                return position
            position = offset + 1
    return offsets.end


def all_within(batches: Iterable[LogBatch], max_bytes: int) -> list[LogBatch] | None:
    """The batches, if they fit into so many bytes."""
    found: list[LogBatch] = []
    used = 0
    for each in batches:
        found.append(each)
        used += sum(_sizes(each))
        if used > max_bytes:
            return None
    return found


def _sizes(batch: LogBatch) -> Iterator[int]:
    """The bytes of each record's key, value and headers."""
    headers = batch.headers if batch.headers is not None else [()] * len(batch)
    for key, value, of in zip(batch.keys, batch.values, headers, strict=True):
        yield len(key or b"") + len(value or b"") + sum(len(name) + len(text or b"") for name, text in of)


def limits_of(limit: ReadLimit | None, own: ReadLimits) -> ReadLimits:
    """What Spark asks for, beside the query's own options; Spark before 4.2 asks for nothing."""
    given: Any = limit
    match type(limit).__name__:
        case "ReadAllAvailable":
            return ReadLimits()
        case "ReadMaxRows":
            return replace(own, max_offsets=_smaller(own.max_offsets, given.max_rows))
        case "ReadMaxBytes":
            return replace(own, max_bytes=_smaller(own.max_bytes, given.max_bytes))
        case "ReadMinRows":
            return replace(own, min_offsets=max(own.min_offsets or 0, given.min_rows))
    return own


def _smaller(own: int | None, given: int) -> int:
    return given if own is None else min(own, given)
