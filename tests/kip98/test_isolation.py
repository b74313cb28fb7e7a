"""Readers see what their isolation level promises."""

from __future__ import annotations

import pytest

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.errors import UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange, ProducerBatch
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, record


def test_read_committed_filters_aborted_records_between_committed_ones(lab: BackendHarness) -> None:
    """CON-01: by producer and range, so a neighbour's records stay."""
    topic = lab.topic()
    aborted = lab.open_transaction(topic, b"x1")
    kept = lab.open_transaction(topic, b"k1")
    aborted.send(record(topic, b"x2"))
    kept.send(record(topic, b"k2"))
    kept.commit_transaction(WAIT)
    aborted.abort_transaction(WAIT)

    aborted.begin_transaction()
    aborted.send(record(topic, b"k3"))
    aborted.commit_transaction(WAIT)

    assert lab.values(topic) == [b"k1", b"k2", b"k3"]


def test_read_uncommitted_sees_aborted_records_but_no_control_records(lab: BackendHarness) -> None:
    """CON-02: the markers take offsets 1 and 3 and are not returned."""
    topic = lab.topic()
    producer = lab.open_transaction(topic, b"aborted")
    producer.abort_transaction(WAIT)
    producer.begin_transaction()
    producer.send(record(topic, b"committed"))
    producer.commit_transaction(WAIT)
    lab.await_end(topic, 4)

    rows = lab.rows(topic, UNCOMMITTED)

    assert [(row.offset, row.value) for row in rows] == [(0, b"aborted"), (2, b"committed")]


def test_the_position_passes_control_and_aborted_records_at_the_end(lab: BackendHarness) -> None:
    """CON-05: the last visible offset is far below the end, yet the read is done."""
    topic = lab.topic()
    producer = lab.open_transaction(topic, b"committed")
    producer.commit_transaction(WAIT)
    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"aborted"] * 100, partition=0))
    producer.flush(WAIT)
    producer.abort_transaction(WAIT)
    lab.await_end(topic, 103)

    rows = lab.rows(topic)

    assert [(row.offset, row.value) for row in rows] == [(0, b"committed")]


def test_a_range_of_nothing_but_hidden_records_is_read_to_its_end(lab: BackendHarness) -> None:
    """CON-05: at the end of the log, then in its middle."""
    topic = lab.topic()
    producer = lab.open_transaction(topic, *[b"aborted"] * 10)
    producer.abort_transaction(WAIT)
    hidden = {TopicPartition(topic, 0): OffsetRange(0, 11)}
    assert lab.read(hidden) == []

    lab.write(topic, b"later")

    assert lab.read(hidden) == []


def test_a_range_ends_before_the_records_behind_it(lab: BackendHarness) -> None:
    """CON-05: an end is exclusive, an empty range is read at once."""
    topic = lab.topic()
    lab.write(topic, *[b"%d" % n for n in range(10)])
    one = TopicPartition(topic, 0)

    rows = lab.read({one: OffsetRange(3, 6)})

    assert [row.value for row in rows] == [b"3", b"4", b"5"]
    assert lab.read({one: OffsetRange(6, 6)}) == []


def test_a_topic_that_does_not_exist_is_named(lab: BackendHarness) -> None:
    """CON-01."""
    missing = lab.name()

    with pytest.raises(UnknownTopicOrPartitionError, match=missing):
        lab.read({TopicPartition(missing, 0): OffsetRange(0, 1)})


def test_a_reader_of_one_partition_sees_part_of_a_transaction(lab: BackendHarness) -> None:
    """CON-03: visibility is atomic; a reader of one partition still reads only that part."""
    topic = lab.topic(partitions=2)
    producer = lab.open_transaction(topic, b"a", b"b", b"c")
    producer.send(record(topic, b"elsewhere", partition=1))
    producer.commit_transaction(WAIT)
    assert lab.values(topic) == [b"a", b"b", b"c", b"elsewhere"]

    middle = lab.read({TopicPartition(topic, 0): OffsetRange(1, 4)})
    other = lab.read({TopicPartition(topic, 1): OffsetRange(0, 2)})

    assert [row.value for row in middle] == [b"b", b"c"]
    assert [row.value for row in other] == [b"elsewhere"]


def test_a_reader_starting_inside_an_aborted_transaction_sees_none_of_it(lab: BackendHarness) -> None:
    """CON-03: a start offset inside a transaction never exposes aborted records."""
    topic = lab.topic()
    producer = lab.open_transaction(topic, b"a", b"b", b"c")
    producer.abort_transaction(WAIT)

    assert lab.read({TopicPartition(topic, 0): OffsetRange(1, 4)}) == []


def test_the_end_at_read_committed_lies_before_an_open_transaction(lab: BackendHarness) -> None:
    """BRK-06: it is the last stable offset, from which lag is counted; at read_uncommitted it is the end of the log."""
    topic = lab.topic()
    lab.write(topic, b"before")
    owner = lab.open_transaction(topic, b"open", b"open")
    position = 1

    assert lab.end(topic, COMMITTED) - position == 0
    assert lab.end(topic, UNCOMMITTED) - position == 2

    owner.commit_transaction(WAIT)
    lab.await_end(topic, 4)

    assert lab.end(topic, COMMITTED) - position == 3


def test_what_is_left_to_read_ends_at_the_last_stable_offset(lab: BackendHarness) -> None:
    """CON-04: what an open transaction has written is no lag at read_committed."""
    topic = lab.topic()
    done = lab.open_transaction(topic, b"1", b"2")
    done.commit_transaction(WAIT)
    lab.await_end(topic, 3)
    undecided = lab.open_transaction(topic, b"3", b"4")

    assert bounds(lab, ReadCommitted, topic) == OffsetRange(0, 3)
    assert bounds(lab, ReadUncommitted, topic) == OffsetRange(0, 5)

    undecided.abort_transaction(WAIT)
    lab.await_end(topic, 6)
    assert bounds(lab, ReadCommitted, topic) == OffsetRange(0, 6)


def bounds(lab: BackendHarness, isolation: type[ReadCommitted | ReadUncommitted], topic: str) -> OffsetRange:
    """What a reader would read of a topic of one partition."""
    reader = isolation.over(lab.backend, lab.runtime)
    try:
        return reader.bounds([topic])[TopicPartition(topic, 0)]
    finally:
        reader.close()
