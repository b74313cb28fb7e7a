"""What a poll returned keeps its order, its objects and its places in the source as columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

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
    batch = PollBatch.from_source_batch(SourceBatch("t", [b"a"], {"p": "a"}, {"o": 1}))

    assert batch.source_offsets == [{"o": 1}]


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


def test_an_empty_source_batch_keeps_its_offset_after_transforms() -> None:
    batch = PollBatch.from_source_batch(SourceBatch("t", [], {"p": "a"}, {"o": 7}))
    (made,) = batch.transformed([])

    assert (len(made), made.positions) == (0, [({"p": "a"}, {"o": 7})])
