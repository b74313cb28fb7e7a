"""How much of what is new one micro-batch takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import TopicPartition
from eosfw.records import LogBatch, OffsetRange
from eosfw_spark.source.admission_control import delay_batch, end_within, new_offsets, rate_limit, shares
from eosfw_spark.source.options import ReadLimits

A, B, C = (TopicPartition("t", number) for number in range(3))
partitions = st.builds(TopicPartition, st.sampled_from("tu"), st.integers(0, 5))
offsets = st.integers(0, 2**62)
starts = st.dictionaries(partitions, offsets, max_size=8)


@st.composite
def progress(draw: st.DrawFn) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """Where a batch begins, and what there is at most 2^62 offsets later; new partitions may have appeared."""
    start = draw(starts)
    latest = {each: at + draw(st.integers(0, 2**62)) for each, at in start.items()}
    return start, {**draw(starts), **latest}


@given(progress(), st.integers(1, 2**62))
def test_a_limited_batch_advances_every_partition_with_anything_new(
    between: tuple[dict[TopicPartition, int], dict[TopicPartition, int]], limit: int
) -> None:
    """Offsets of control records alone count; so it may exceed its limit, but by one offset per partition only."""
    start, latest = between
    end = rate_limit(limit, start, latest)

    assert end.keys() == latest.keys()
    assert all(start.get(each, 0) <= end[each] <= latest[each] for each in latest)
    assert all(end[each] > start.get(each, 0) for each in new_offsets(start, latest))
    assert sum(new_offsets(start, end).values()) <= limit + len(new_offsets(start, end))


@given(progress(), st.integers(1, 2**62))
def test_limited_batches_reach_the_latest_in_bounded_number(
    between: tuple[dict[TopicPartition, int], dict[TopicPartition, int]], limit: int
) -> None:
    start, latest = between
    total = sum(new_offsets(start, latest).values())
    limit = max(limit, total // 50)
    batches = 0
    while new_offsets(start, latest):
        start, batches = dict(rate_limit(limit, start, latest)), batches + 1
        assert batches <= 300

    assert not new_offsets(start, latest)


def test_a_limit_is_shared_by_what_is_new_as_spark_does() -> None:
    start = {A: 10, B: 0}

    assert rate_limit(10, start, {A: 110, B: 300, C: 1}) == {A: 12, B: 7, C: 1}
    assert rate_limit(1000, start, {A: 110, B: 300, C: 1}) == {A: 110, B: 300, C: 1}


@given(st.dictionaries(partitions, st.integers(1, 2**62), min_size=1), st.integers(1, 2**62))
def test_a_larger_partition_gets_no_smaller_share(sizes: dict[TopicPartition, int], limit: int) -> None:
    share = shares(limit, sizes)
    ordered = sorted(sizes, key=lambda each: sizes[each])

    assert [share[each] for each in ordered] == sorted(share.values())


def test_a_batch_waits_for_its_least_number_until_the_delay() -> None:
    limits = ReadLimits(min_offsets=10, max_delay=60)

    assert delay_batch(limits, {A: 0}, {A: 9}, waited=59.9)
    assert not delay_batch(limits, {A: 0}, {A: 9}, waited=60)
    assert not delay_batch(limits, {A: 0}, {A: 5, B: 5}, waited=0)
    assert not delay_batch(ReadLimits(), {A: 0}, {A: 0}, waited=0)


def batch(first: int, *sizes: int, headers: bool = False) -> LogBatch:
    count = len(sizes)
    of = [(("h", b"12"),)] * count if headers else None
    found = range(first, first + count)
    return LogBatch("t", 0, found, [None] * count, [b"x" * size for size in sizes], [0] * count, of)


def test_bytes_end_a_batch_before_the_record_that_is_too_much() -> None:
    assert end_within([batch(0, 4, 4, 4)], OffsetRange(0, 3), 8) == 2
    assert end_within([batch(0, 4, 4, 4), batch(5, 1)], OffsetRange(0, 6), 12) == 3
    assert end_within([batch(0, 4, 4, 4), batch(5, 1)], OffsetRange(0, 6), 13) == 6
    assert end_within([batch(0, 4, 4, headers=True)], OffsetRange(0, 2), 10) == 1


def test_a_record_larger_than_the_limit_is_a_batch_of_its_own() -> None:
    assert end_within([batch(7, 100, 1)], OffsetRange(7, 9), 10) == 8
    assert end_within([batch(9, 100, 1)], OffsetRange(7, 11), 10) == 10


def test_control_records_take_no_bytes() -> None:
    assert end_within([], OffsetRange(3, 5), 1) == 5
    assert end_within([batch(3, 1)], OffsetRange(3, 9), 1) == 9
