"""What a poll returned keeps its order, its objects and its places in the source as columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.data import INT64
from eosfw.records import SourceBatch, SourceRecord
from eosfw.state.tasks.poll_batch import PollBatch, batches_of

PARTITIONS = [{"p": "a"}, {"p": "b"}]
RECORDS = st.lists(
    st.builds(
        SourceRecord,
        topic=st.sampled_from("tu"),
        value=st.sampled_from([None, b"", b"v"]),
        key=st.sampled_from([None, b"k"]),
        source_partition=st.sampled_from(PARTITIONS),
        source_offset=st.integers(0, 9).map(lambda number: {"o": number}),
        partition=st.sampled_from([None, 0]),
        timestamp=st.sampled_from([None, 5]),
        headers=st.sampled_from([(), (("h", b"1"),)]),
    ),
    max_size=8,
)


def as_columns(batch: PollBatch) -> PollBatch:
    """The same batch without the objects that poll returned."""
    return PollBatch(batch.columns, batch.source_partitions, batch.source_offsets, batch.positions)


@given(RECORDS)
def test_records_survive_conversion_to_columns_in_order(records: list[SourceRecord]) -> None:
    batches = batches_of(records)

    assert [record for batch in batches for record in as_columns(batch).records()] == records
    assert [id(record) for batch in batches for record in batch.records()] == [id(record) for record in records]


@given(RECORDS)
def test_batches_are_split_by_topic_partition_and_timestamp_presence(records: list[SourceRecord]) -> None:
    batches = batches_of(records)
    places = [(batch.columns.topic, batch.columns.partition, batch.columns.timestamps is None) for batch in batches]

    assert all(len(batch) for batch in batches)
    assert all(first != second for first, second in pairwise(places))


PLAIN = SourceRecord("t", b"v", None, PARTITIONS[0], {"o": 1}, None, None)


@pytest.mark.parametrize(
    "other",
    [
        {"topic": "a"},
        {"topic": "u"},
        {"partition": 0},
        {"timestamp": 0},
        {"key_schema": INT64},
        {"value_schema": INT64},
    ],
    ids=str,
)
def test_records_of_two_destinations_are_never_in_one_batch(other: dict[str, Any]) -> None:
    changed = replace(PLAIN, **other)

    for pair in ([PLAIN, changed], [changed, PLAIN]):
        assert [list(batch.records()) for batch in batches_of(pair)] == [[one] for one in pair]


def test_columns_that_no_record_fills_are_left_out() -> None:
    (bare,) = batches_of([PLAIN] * 300)
    (full,) = batches_of([replace(PLAIN, key=key, timestamp=0) for key in (b"k", None)])

    assert (bare.columns.keys, bare.columns.timestamps) == (None, None)
    assert (full.columns.keys, full.columns.timestamps) == ([b"k", None], [0, 0])


def test_a_whole_batch_is_its_own_part() -> None:
    """Of columns without the offset of each record nothing else may be one."""
    batch = PollBatch.from_source_batch(SourceBatch("t", [b"a"] * 300, {"p": "a"}, {"o": 2}))

    assert batch.part(0, int("300")) is batch


def test_other_columns_belong_to_the_records_that_were_polled() -> None:
    """TXN-04: whatever transforms of columns send."""
    batch = PollBatch.from_source_batch(SourceBatch("t", [b"%d" % at for at in range(300)], {"p": "a"}, {"o": 300}))
    sent = replace(batch.columns, values=[b"x"] * 3)

    some = batch.with_columns(sent, [1, 4, 6])
    every = batch.with_columns(replace(batch.columns, values=[b"x"] * 300), list(range(300)))

    assert (some.kept, every.kept, batch.with_columns(batch.columns, None).kept) == ([1, 4, 6], None, None)
    assert [record.value for record in some.records()] == batch.columns.values
    assert some.source_records is not None
    assert some.source_records[4].value == b"4"
    assert batch.with_columns(sent, [1, 4, 6]).with_columns(sent, None).source_records is not None


def test_a_batch_that_transforms_only_look_at_stays_one() -> None:
    """TXN-04: with the position that poll stated."""
    batch = PollBatch.from_source_batch(SourceBatch("t", [b"a"] * 300, {"p": "a"}, {"o": 2}))

    (made,) = batch.transformed(list(batch.records()))

    assert (made.kept, made.positions) == (None, batch.positions)


def test_a_part_of_a_batch_counts_its_kept_records_from_its_start() -> None:
    records = [replace(PLAIN, value=b"%d" % at) for at in range(8)]
    (batch,) = batches_of(records)
    (made,) = batch.transformed([record if at in {1, 4, 5, 7} else None for at, record in enumerate(records)])

    part = made.part(3, 8)

    assert part.kept == [1, 2, 4]
    assert part.columns.values == [b"4", b"5", b"7"]


@given(RECORDS, st.data())
def test_a_batch_carries_the_last_offset_of_each_source_partition(
    records: list[SourceRecord], data: st.DataObject
) -> None:
    """TXN-04: of the whole batch, and of any part of it."""
    for batch in batches_of(records):
        start = data.draw(st.integers(0, len(batch)))
        end = data.draw(st.integers(start, len(batch)))
        part = batch.part(start, end)
        inside = list(batch.records())[start:end]

        assert list(as_columns(part).records()) == list(part.records()) == inside
        assert {partition["p"]: offset for partition, offset in part.positions} == {
            record.source_partition["p"]: record.source_offset for record in inside
        }


def test_records_of_a_source_batch_share_the_offset_behind_it() -> None:
    batch = PollBatch.from_source_batch(SourceBatch("t", [b"a", b"b"], {"p": "a"}, {"o": 2}))

    assert batch.source_offsets is None
    assert [record.source_offset for record in batch.records()] == [{"o": 2}, {"o": 2}]


def test_a_source_batch_of_one_record_states_that_records_offset() -> None:
    batch = PollBatch.from_source_batch(SourceBatch("t", [b"a"], {"p": "a"}, {"o": 1}, keys=[b"k"]))

    assert (batch.source_offsets, batch.columns.keys) == ([{"o": 1}], [b"k"])


def with_outcomes(batch: PollBatch, data: st.DataObject) -> list[SourceRecord | None]:
    """What transforms made of the records of a batch: dropped, kept, or sent elsewhere."""
    outcomes = st.sampled_from(["drop", "keep", "reroute"])
    made = {"drop": None, "keep": lambda record: record, "reroute": lambda record: replace(record, topic="elsewhere")}
    steps = [made[data.draw(outcomes)] for _ in range(len(batch))]
    return [None if step is None else step(record) for step, record in zip(steps, batch.records(), strict=True)]


@given(RECORDS, st.data())
def test_transformed_batches_keep_every_polled_record_and_send_the_kept_ones(
    records: list[SourceRecord], data: st.DataObject
) -> None:
    """TXN-04: records that were dropped still count for boundaries, callbacks and offsets."""
    for batch in batches_of(records):
        results = with_outcomes(batch, data)
        made = batch.transformed(results)

        assert [id(record) for one in made for record in one.records()] == [id(record) for record in batch.records()]
        sent = [(one.columns.topic, record.value) for one in made for record in one.columns.records()]
        assert sent == [(result.topic, result.value) for result in results if result is not None]
        positions = {partition["p"]: offset for one in made for partition, offset in one.positions}
        assert positions == {partition["p"]: offset for partition, offset in batch.positions}


@given(RECORDS, st.data())
def test_a_part_of_a_transformed_batch_sends_its_own_records(records: list[SourceRecord], data: st.DataObject) -> None:
    """TXN-04: as a boundary cuts it."""
    for batch in batches_of(records):
        results = with_outcomes(batch, data)
        first = batch.transformed(results)[0]
        start = data.draw(st.integers(0, len(first)))
        end = data.draw(st.integers(start, len(first)))
        part = first.part(start, end)

        inside = [result for result in results[: len(first)][start:end] if result is not None]
        assert [record.value for record in part.columns.records()] == [result.value for result in inside]
        kept = range(len(part)) if part.kept is None else part.kept
        assert [list(part.records())[at] for at in kept] == part.kept_of(list(part.records()))
        assert len(part.kept_of(part.source_partitions)) == len(part.columns)


def test_dropped_records_of_a_column_batch_leave_its_offset() -> None:
    """TXN-04: a batch without the offset of each record states the one after its last."""
    batch = PollBatch.from_source_batch(SourceBatch("t", [b"a", b"b", b"c"], {"p": "a"}, {"o": 3}))
    one, _, three = batch.records()
    first, second = batch.transformed([replace(one, topic="u"), None, three])

    assert (first.columns.topic, first.columns.values, first.kept, first.positions) == ("u", [b"a"], [0], ())
    assert (second.columns.topic, second.columns.values, second.kept) == ("t", [b"c"], None)
    assert second.positions == [({"p": "a"}, {"o": 3})]
    assert [record.topic for record in first.records()] == ["t", "t"]


def test_an_empty_source_batch_keeps_its_offset_after_transforms() -> None:
    batch = PollBatch.from_source_batch(SourceBatch("t", [], {"p": "a"}, {"o": 7}))
    assert batch.source_offsets == []
    (made,) = batch.transformed([])

    assert (len(made), made.positions) == (0, [({"p": "a"}, {"o": 7})])
