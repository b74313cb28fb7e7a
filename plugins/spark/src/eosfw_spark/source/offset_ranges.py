"""The offset ranges that each task of a Spark job reads.

Spark's `KafkaOffsetRangeCalculator`, and `KafkaOffsetReader` where limits become offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

from eosfw.errors import ConfigError, Problem, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin
from eosfw.records import OffsetRange
from eosfw_spark.source.offset_range_limit import (
    EARLIEST,
    LATEST,
    EarliestOffsetRangeLimit,
    GlobalTimestampRangeLimit,
    OffsetRangeLimit,
    Offsets,
    SpecificOffsetRangeLimit,
    SpecificTimestampRangeLimit,
    StrategyOnNoMatchStartingOffset,
    Timestamps,
)
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.topic_pattern import matching_topics

Ranges = Mapping[TopicPartition, OffsetRange]
OffsetsForTimes = Callable[[Timestamps], Mapping[TopicPartition, int | None]]
"""The first offset of each time or later; None where every record is earlier (`Admin.offsets_for_times`)."""


@dataclass(frozen=True, slots=True)
class Split:
    """What one Spark task reads: one range of one partition."""

    partition: TopicPartition
    offsets: OffsetRange
    topic_id: str | None = None
    """The id that the topic had when the range was planned; None if nobody asked."""


def explicit_ranges(options: ReadOptions) -> Ranges | None:
    """The ranges if the options contain all of them; None if the cluster must be asked for offsets."""
    match options.assigned, options.start, options.end:
        case [*assigned], SpecificOffsetRangeLimit(starts), SpecificOffsetRangeLimit(ends):
            if any(offset < 0 for offset in (*starts.values(), *ends.values())):
                return None
            # Nobody looks at these bounds, since every start and every end is given.
            return ranges_to_read(options, {each: OffsetRange(0, 0) for each in assigned}, never_asked)
    return None


def never_asked(times: Timestamps) -> Mapping[TopicPartition, int | None]:
    """Stands for the offsets of times where no time is given."""
    raise AssertionError(times)


def ranges_to_read(options: ReadOptions, bounds: Ranges, offsets_for_times: OffsetsForTimes) -> Ranges:
    """The range of every partition, from the options and what the cluster says: `bounds`, and offsets for times."""
    among = {each: bounds[each] for each in partitions_to_read(options, bounds)}
    starts = starting_offsets(options.start, among, offsets_for_times)
    ends = ending_offsets(options.end, among, offsets_for_times)
    backwards = [each for each in among if ends[each] < starts[each]]
    if backwards:
        raise ConfigError(
            *(Problem(str(each), f"its end {ends[each]} lies before its start {starts[each]}") for each in backwards)
        )
    return {each: OffsetRange(starts[each], ends[each]) for each in among}


def topics_to_read(options: ReadOptions, admin: Admin) -> tuple[str, ...]:
    """The topics that the options name, or those that exist now and match their pattern."""
    return options.topics if options.pattern is None else matching_topics(options.pattern, admin.partitions())


def partitions_to_read(options: ReadOptions, existing: Collection[TopicPartition]) -> tuple[TopicPartition, ...]:
    """The partitions that the options choose; raise UnknownTopicOrPartitionError if one of them does not exist."""
    known = {partition.topic for partition in existing}
    lost = [topic for topic in options.topics if topic not in known]
    lost += [str(each) for each in options.assigned or () if each.topic in known and each not in existing]
    if lost:
        raise UnknownTopicOrPartitionError(f"no topic or partition {', '.join(lost)} on {options.address}")
    return options.assigned if options.assigned is not None else tuple(sorted(existing))


def starting_offsets(limit: OffsetRangeLimit, bounds: Ranges, offsets_for_times: OffsetsForTimes) -> Offsets:
    """The offset at which each partition begins."""
    match limit:
        case GlobalTimestampRangeLimit(timestamp, strategy):
            times: Timestamps = dict.fromkeys(bounds, timestamp)
        case SpecificTimestampRangeLimit(times, strategy):
            _check_partitions("startingOffsetsByTimestamp", times, bounds)
        case _:
            return _known_offsets("startingOffsets", limit, bounds)
    found = offsets_for_times(times)
    late = [each for each in sorted(times) if found[each] is None]
    if late and strategy is StrategyOnNoMatchStartingOffset.ERROR:
        raise ConfigError(*(Problem(str(each), _no_match(times[each])) for each in late))
    return _within(found, bounds)


def ending_offsets(limit: OffsetRangeLimit, bounds: Ranges, offsets_for_times: OffsetsForTimes) -> Offsets:
    """The offset before which each partition ends; a time later than all records is the latest offset."""
    match limit:
        case GlobalTimestampRangeLimit(timestamp):
            return _within(offsets_for_times(dict.fromkeys(bounds, timestamp)), bounds)
        case SpecificTimestampRangeLimit(times):
            _check_partitions("endingOffsetsByTimestamp", times, bounds)
            return _within(offsets_for_times(times), bounds)
    return _known_offsets("endingOffsets", limit, bounds)


def _known_offsets(name: str, limit: OffsetRangeLimit, bounds: Ranges) -> Offsets:
    match limit:
        case EarliestOffsetRangeLimit():
            return {each: offsets.start for each, offsets in bounds.items()}
        case SpecificOffsetRangeLimit(given):
            _check_partitions(name, given, bounds)
            edges = {each: {EARLIEST: offsets.start, LATEST: offsets.end} for each, offsets in bounds.items()}
            return {each: edges[each].get(offset, offset) for each, offset in given.items()}
    return {each: offsets.end for each, offsets in bounds.items()}


def _within(found: Mapping[TopicPartition, int | None], bounds: Ranges) -> Offsets:
    # The bounds were taken once: a record that came later than them is not read, whatever its time.
    ends = {each: bounds[each].end for each in found}
    return {each: ends[each] if offset is None else min(offset, ends[each]) for each, offset in found.items()}


def _no_match(timestamp: int) -> str:
    return (
        f"has no record of the time {timestamp} or later, where it should begin; give an earlier time, or "
        "startingOffsetsByTimestampStrategy = latest to begin at its end"
    )


def _check_partitions(name: str, given: Mapping[TopicPartition, int], wanted: Collection[TopicPartition]) -> None:
    problems = [Problem(name, f"says nothing for {each}") for each in sorted(set(wanted) - set(given))]
    problems += [Problem(name, f"speaks of {each}, which is not read") for each in sorted(set(given) - set(wanted))]
    if problems:
        raise ConfigError(*problems)


def split_ranges(ranges: Ranges, at_least: int = 0, largest: int | None = None) -> list[Split]:
    """Split the ranges into at least that many parts, if there are enough offsets; every offset is in exactly one part.

    Larger ranges are split into more parts, as Spark's own source does; empty ranges get no task. No part has more
    offsets than `largest`.
    """
    total = sum(offsets.end - offsets.start for offsets in ranges.values())
    found: list[Split] = []
    for partition, offsets in sorted(ranges.items()):
        size = offsets.end - offsets.start
        if size:
            # Rounded up, so that there are never fewer parts than asked for.
            shares = max(1, -(-size * at_least // total), -(-size // (largest or size)))
            found += [Split(partition, share) for share in _cut(offsets, min(size, shares))]
    return found


def _cut(offsets: OffsetRange, shares: int) -> list[OffsetRange]:
    size = offsets.end - offsets.start
    edges = [offsets.start + size * share // shares for share in range(shares + 1)]
    return [OffsetRange(low, high) for low, high in pairwise(edges)]
