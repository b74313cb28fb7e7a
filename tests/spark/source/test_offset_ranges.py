"""Which task of a Spark job reads which offsets."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import ConfigError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw_spark.source.offset_range_limit import (
    GlobalTimestampRangeLimit,
    SpecificOffsetRangeLimit,
    SpecificTimestampRangeLimit,
    StrategyOnNoMatchStartingOffset,
)
from eosfw_spark.source.offset_ranges import (
    OffsetsForTimes,
    Ranges,
    ending_offsets,
    explicit_ranges,
    never_asked,
    ranges_to_read,
    split_ranges,
    starting_offsets,
)
from eosfw_spark.source.options import ReadOptions

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)
BOUNDS = {ONE: OffsetRange(5, 50), TWO: OffsetRange(0, 0)}
OPTIONS = ReadOptions(properties={"bootstrap.servers": "h:1"}, topics=("t",))
LATEST = StrategyOnNoMatchStartingOffset.LATEST


def reads(*, assigned: tuple[TopicPartition, ...] | None = None, **sides: dict[TopicPartition, int]) -> ReadOptions:
    """Options with offsets of one side or both."""
    limits = {side: SpecificOffsetRangeLimit(offsets) for side, offsets in sides.items()}
    return ReadOptions({"bootstrap.servers": "h:1"}, ("t",), assigned, **limits)


def planned(options: ReadOptions, bounds: Ranges = BOUNDS) -> Ranges:
    return ranges_to_read(options, bounds, never_asked)


ranges = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 5)),
    st.tuples(st.integers(0, 10**12), st.integers(0, 10**6)).map(lambda pair: OffsetRange(pair[0], sum(pair))),
    max_size=8,
)


@given(ranges, st.integers(0, 20), st.none() | st.integers(1, 10**5).map(lambda share: share * 20))
def test_each_offset_is_in_exactly_one_split_of_no_more_than_asked_for(
    wanted: dict[TopicPartition, OffsetRange], at_least: int, largest: int | None
) -> None:
    """`maxRecordsPerPartition`, whatever `minPartitions` is."""
    found = split_ranges(wanted, at_least, largest)

    for partition, offsets in wanted.items():
        reached = offsets.start
        for split in (each.offsets for each in found if each.partition == partition):
            assert split.start == reached
            assert split.start < split.end <= reached + (largest or split.end)
            reached = split.end
        assert reached == offsets.end


@given(ranges, st.integers(1, 200))
def test_there_are_as_many_splits_as_asked_for(wanted: dict[TopicPartition, OffsetRange], at_least: int) -> None:
    total = sum(offsets.end - offsets.start for offsets in wanted.values())

    assert min(at_least, total) <= len(split_ranges(wanted, at_least)) <= at_least + len(wanted)


def test_earliest_and_latest_are_what_the_cluster_says() -> None:
    assert planned(OPTIONS) == BOUNDS


def test_given_offsets_replace_what_the_cluster_says() -> None:
    options = reads(start={ONE: 7, TWO: -2}, end={ONE: 9, TWO: -1})

    assert planned(options) == {ONE: OffsetRange(7, 9), TWO: OffsetRange(0, 0)}


def test_offsets_must_speak_of_exactly_what_is_read() -> None:
    options = reads(start={ONE: 7, TopicPartition("u", 0): 0})

    with pytest.raises(ConfigError) as raised:
        planned(options)

    assert [str(each) for each in raised.value.problems] == [
        "startingOffsets: says nothing for t-1",
        "startingOffsets: speaks of u-0, which is not read",
    ]


def test_an_end_before_its_start_is_refused() -> None:
    with pytest.raises(ConfigError, match="t-0: its end 6 lies before its start 9"):
        planned(reads(start={ONE: 9, TWO: 0}, end={ONE: 6, TWO: 0}))


def test_missing_topics_and_partitions_are_named() -> None:
    options = ReadOptions({"bootstrap.servers": "h:1"}, ("t", "u"), (TopicPartition("t", 9), TopicPartition("u", 0)))

    with pytest.raises(UnknownTopicOrPartitionError, match="u, t-9 on h:1"):
        planned(options)


def test_the_cluster_is_asked_only_for_what_the_options_leave_open() -> None:
    closed = reads(assigned=(ONE,), start={ONE: 0}, end={ONE: 9})
    opened = reads(assigned=(ONE,), start={ONE: -2}, end={ONE: 9})

    assert explicit_ranges(closed) == {ONE: OffsetRange(0, 9)}
    assert explicit_ranges(opened) is None


LOG = {ONE: OffsetRange(5, 50), TWO: OffsetRange(0, 20)}


def first_of(offsets: dict[TopicPartition, int | None]) -> OffsetsForTimes:
    """A cluster that has these offsets for whatever time."""
    return lambda times: {each: offsets[each] for each in times}


def test_a_start_later_than_every_record_is_refused() -> None:
    """As in Spark; the partition and the time are named, with what to write instead."""
    limit = SpecificTimestampRangeLimit({ONE: 1000, TWO: 2000})

    with pytest.raises(ConfigError, match=r"t-1: has no record of the time 2000 or later.*= latest"):
        starting_offsets(limit, LOG, first_of({ONE: 7, TWO: None}))


def test_records_written_since_the_ends_were_taken_are_not_read() -> None:
    """Bounds are taken once, and offsets of times are asked later."""
    options = ReadOptions({}, ("t",), start=GlobalTimestampRangeLimit(1000))

    found = ranges_to_read(options, LOG, first_of({ONE: 60, TWO: 0}))

    assert found == {ONE: OffsetRange(50, 50), TWO: OffsetRange(0, 20)}


def test_times_must_speak_of_exactly_what_is_read() -> None:
    with pytest.raises(ConfigError, match="startingOffsetsByTimestamp: says nothing for t-1"):
        starting_offsets(SpecificTimestampRangeLimit({ONE: 1000}), LOG, never_asked)
    with pytest.raises(ConfigError, match="endingOffsetsByTimestamp: says nothing for t-1"):
        ending_offsets(SpecificTimestampRangeLimit({ONE: 1000}), LOG, never_asked)


times = st.integers(0, 60)
logs = st.lists(times, max_size=40)


@given(logs, times, times, st.sampled_from(StrategyOnNoMatchStartingOffset))
def test_times_choose_the_records_between_them(
    log: list[int], begin: int, end: int, strategy: StrategyOnNoMatchStartingOffset
) -> None:
    """Whatever the order of the records' times: from the first of `begin` or later to before the first of `end`."""
    begin, end = sorted((begin, end))

    def first(wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        return {p: next((offset for offset, time in enumerate(log) if time >= t), None) for p, t in wanted.items()}

    start = GlobalTimestampRangeLimit(begin, strategy)
    options = ReadOptions({}, ("t",), start=start, end=GlobalTimestampRangeLimit(end))
    bounds = {ONE: OffsetRange(0, len(log))}
    if strategy is StrategyOnNoMatchStartingOffset.ERROR and all(time < begin for time in log):
        with pytest.raises(ConfigError, match="has no record of the time"):
            ranges_to_read(options, bounds, first)
        return

    found = ranges_to_read(options, bounds, first)[ONE]

    assert all(time < begin for time in log[: found.start])
    assert all(time < end for time in log[: found.end])
    assert found.end == len(log) or log[found.end] >= end
    assert found.start == len(log) or log[found.start] >= begin
