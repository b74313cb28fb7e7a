"""Which task of a Spark job reads which offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import ConfigError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw_spark.source.offset_ranges import explicit_ranges, ranges_to_read, split_ranges
from eosfw_spark.source.options import ReadOptions

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)
BOUNDS = {ONE: OffsetRange(5, 50), TWO: OffsetRange(0, 0)}
OPTIONS = ReadOptions(properties={"bootstrap.servers": "h:1"}, topics=("t",))

ranges = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 5)),
    st.tuples(st.integers(0, 10**12), st.integers(0, 10**6)).map(lambda pair: OffsetRange(pair[0], sum(pair))),
    max_size=8,
)


@given(ranges, st.integers(0, 200))
def test_each_offset_is_in_exactly_one_split(wanted: dict[TopicPartition, OffsetRange], at_least: int) -> None:
    found = split_ranges(wanted, at_least)

    for partition, offsets in wanted.items():
        reached = offsets.start
        for split in (each for each in found if each.partition == partition):
            assert split.offsets.start == reached
            assert split.offsets.end > reached
            reached = split.offsets.end
        assert reached == offsets.end


@given(ranges, st.integers(1, 200))
def test_there_are_as_many_splits_as_asked_for(wanted: dict[TopicPartition, OffsetRange], at_least: int) -> None:
    total = sum(offsets.end - offsets.start for offsets in wanted.values())

    assert min(at_least, total) <= len(split_ranges(wanted, at_least)) <= at_least + len(wanted)


def test_each_non_empty_partition_is_one_split_by_default() -> None:
    assert [split.partition for split in split_ranges(BOUNDS)] == [ONE]


def test_earliest_and_latest_are_what_the_cluster_says() -> None:
    assert ranges_to_read(OPTIONS, BOUNDS) == BOUNDS


def test_given_offsets_replace_what_the_cluster_says() -> None:
    options = ReadOptions({}, ("t",), starts={ONE: 7, TWO: -2}, ends={ONE: 9, TWO: -1})

    assert ranges_to_read(options, BOUNDS) == {ONE: OffsetRange(7, 9), TWO: OffsetRange(0, 0)}


def test_offsets_must_speak_of_exactly_what_is_read() -> None:
    options = ReadOptions({}, ("t",), starts={ONE: 7, TopicPartition("u", 0): 0})

    with pytest.raises(ConfigError) as raised:
        ranges_to_read(options, BOUNDS)

    assert [str(each) for each in raised.value.problems] == [
        "startingOffsets: says nothing for t-1",
        "startingOffsets: speaks of u-0, which is not read",
    ]


def test_an_end_before_its_start_is_refused() -> None:
    with pytest.raises(ConfigError, match="t-0: endingOffsets 6 lies before startingOffsets 9"):
        ranges_to_read(ReadOptions({}, ("t",), starts={ONE: 9, TWO: 0}, ends={ONE: 6, TWO: 0}), BOUNDS)


def test_missing_topics_and_partitions_are_named() -> None:
    options = ReadOptions({"bootstrap.servers": "h:1"}, ("t", "u"), (TopicPartition("t", 9), TopicPartition("u", 0)))

    with pytest.raises(UnknownTopicOrPartitionError, match="u, t-9 on h:1"):
        ranges_to_read(options, BOUNDS)


def test_the_cluster_is_asked_only_for_what_the_options_leave_open() -> None:
    closed = ReadOptions({}, ("t",), (ONE,), starts={ONE: 0}, ends={ONE: 9})
    opened = ReadOptions({}, ("t",), (ONE,), starts={ONE: -2}, ends={ONE: 9})

    assert explicit_ranges(closed) == {ONE: OffsetRange(0, 9)}
    assert explicit_ranges(opened) is None
