"""The offset ranges that each task of a Spark job reads.

Spark's `KafkaOffsetRangeCalculator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from eosfw.errors import ConfigError, Problem, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw_spark.source.options import EARLIEST, LATEST, ReadOptions

Ranges = Mapping[TopicPartition, OffsetRange]


@dataclass(frozen=True, slots=True)
class Split:
    """What one Spark task reads: one range of one partition."""

    partition: TopicPartition
    offsets: OffsetRange


def explicit_ranges(options: ReadOptions) -> Ranges | None:
    """The ranges if the options contain all of them; None if the cluster must be asked."""
    if options.assigned is None or options.starts is None or options.ends is None:
        return None
    given = (*options.starts.values(), *options.ends.values())
    if any(offset < 0 for offset in given):
        return None
    # Nobody looks at these bounds, since every start and every end is given.
    return ranges_to_read(options, {each: OffsetRange(0, 0) for each in options.assigned})


def ranges_to_read(options: ReadOptions, bounds: Ranges) -> Ranges:
    """The range of every partition: from the options, or from `bounds` for earliest and latest."""
    _check_topics(options, bounds)
    partitions = options.assigned if options.assigned is not None else tuple(sorted(bounds))
    _check_offsets(options, partitions)
    ranges = {each: _range(options, each, bounds[each]) for each in partitions}
    backwards = [each for each, offsets in ranges.items() if offsets.end < offsets.start]
    if backwards:
        raise ConfigError(
            *(
                Problem(str(each), f"endingOffsets {ranges[each].end} lies before startingOffsets {ranges[each].start}")
                for each in backwards
            )
        )
    return ranges


def _check_topics(options: ReadOptions, bounds: Ranges) -> None:
    known = {partition.topic for partition in bounds}
    lost = [topic for topic in options.topics if topic not in known]
    lost += [str(each) for each in options.assigned or () if each.topic in known and each not in bounds]
    if lost:
        raise UnknownTopicOrPartitionError(f"no topic or partition {', '.join(lost)} on {options.address}")


def _check_offsets(options: ReadOptions, partitions: tuple[TopicPartition, ...]) -> None:
    problems = []
    for name, offsets in (("startingOffsets", options.starts), ("endingOffsets", options.ends)):
        if offsets is None:
            continue
        wanted = set(partitions)
        problems += [Problem(name, f"says nothing for {each}") for each in sorted(wanted - set(offsets))]
        problems += [Problem(name, f"speaks of {each}, which is not read") for each in sorted(set(offsets) - wanted)]
    if problems:
        raise ConfigError(*problems)


def _range(options: ReadOptions, partition: TopicPartition, bounds: OffsetRange) -> OffsetRange:
    start = EARLIEST if options.starts is None else options.starts[partition]
    end = LATEST if options.ends is None else options.ends[partition]
    return OffsetRange(bounds.start if start == EARLIEST else start, bounds.end if end == LATEST else end)


def split_ranges(ranges: Ranges, at_least: int = 0) -> list[Split]:
    """Split the ranges into at least that many parts, if there are enough offsets; every offset is in exactly one part.

    Larger ranges are split into more parts, as Spark's own source does; empty ranges get no task.
    """
    total = sum(offsets.end - offsets.start for offsets in ranges.values())
    found: list[Split] = []
    for partition, offsets in sorted(ranges.items()):
        size = offsets.end - offsets.start
        if size:
            # Rounded up, so that there are never fewer parts than asked for.
            shares = min(size, max(1, -(-size * at_least // total)))
            found += [Split(partition, share) for share in _cut(offsets, shares)]
    return found


def _cut(offsets: OffsetRange, shares: int) -> list[OffsetRange]:
    size = offsets.end - offsets.start
    edges = [offsets.start + size * share // shares for share in range(shares + 1)]
    return [OffsetRange(low, high) for low, high in pairwise(edges)]
