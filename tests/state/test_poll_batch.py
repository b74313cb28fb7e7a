"""What a poll returned keeps its order, its objects and its places in the source as columns."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from eosfw.records import SourceBatch, SourceRecord
from eosfw.state.poll_batch import PollBatch, batches_of

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


def test_an_empty_source_batch_still_carries_its_offset() -> None:
    batch = PollBatch.from_source_batch(SourceBatch("t", [], {"p": "a"}, {"o": 7}))

    assert (len(batch), batch.positions) == (0, [({"p": "a"}, {"o": 7})])
