"""Readers see what their isolation level promises."""

from __future__ import annotations

import pytest

from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted
from eosfw.errors import ProducerFencedError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange, ProducerBatch
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, commit, record


def test_read_committed_filters_aborted_records_between_committed_ones(lab: BackendHarness) -> None:
    """CON-01: by producer and range, so a neighbour's records stay."""
    topic = lab.topic()
    aborted = lab.open_transaction(topic, b"x1")
    kept = lab.open_transaction(topic, b"k1")
    aborted.send(record(topic, b"x2"))
    kept.send(record(topic, b"k2"))
    kept.commit_transaction(WAIT)
    aborted.abort_transaction(WAIT)

    commit(aborted, topic, b"k3")

    assert lab.values(topic) == [b"k1", b"k2", b"k3"]


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


def test_a_topic_that_is_deleted_while_it_is_read_is_named_and_stays_away(lab: BackendHarness) -> None:
    """CON-01: a reader creates no topic, though the broker has `auto.create.topics.enable`."""
    topic = lab.topic()
    lab.write(topic, b"first")
    reader = lab.reader(COMMITTED)
    rows = reader.read({TopicPartition(topic, 0): OffsetRange(0, 9)}, WAIT)
    assert list(next(rows).values) == [b"first"]

    lab.admin.delete_topics([topic])

    with pytest.raises(UnknownTopicOrPartitionError, match=topic):
        list(rows)
    assert topic not in lab.admin.partitions()


def test_positions_pass_hidden_records_at_the_end_of_a_log_and_in_its_middle(lab: BackendHarness) -> None:
    """CON-02, CON-05: aborted records and markers are not returned, whatever range asks for them."""
    topic = lab.topic()
    one = TopicPartition(topic, 0)
    producer = lab.open_transaction(topic, b"committed")
    producer.commit_transaction(WAIT)
    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"aborted"] * 100, partition=0))
    producer.flush(WAIT)
    producer.abort_transaction(WAIT)
    lab.await_end(topic, 103)
    hidden = {one: OffsetRange(1, 103)}

    assert [(row.offset, row.value) for row in lab.rows(topic)] == [(0, b"committed")]
    assert lab.read(hidden) == []
    lab.write(topic, b"later")
    assert lab.read(hidden) == []
    dirty = lab.rows(topic, UNCOMMITTED)
    assert [row.offset for row in dirty] == [0, *range(2, 102), 103]


def test_a_reader_of_one_partition_sees_part_of_a_transaction(lab: BackendHarness) -> None:
    """CON-03: visibility is atomic; a reader of one partition still reads only that part, from within if it starts so.

    A start inside an aborted transaction never exposes its records.
    """
    topic = lab.topic(partitions=2)
    producer = lab.open_transaction(topic, b"a", b"b", b"c")
    producer.send(record(topic, b"elsewhere", partition=1))
    producer.commit_transaction(WAIT)
    lab.open_transaction(topic, b"x", b"y", b"z").abort_transaction(WAIT)
    assert lab.values(topic) == [b"a", b"b", b"c", b"elsewhere"]

    middle = lab.read({TopicPartition(topic, 0): OffsetRange(1, 4)})
    aborted = lab.read({TopicPartition(topic, 0): OffsetRange(5, 8)})
    other = lab.read({TopicPartition(topic, 1): OffsetRange(0, 2)})

    assert [row.value for row in middle] == [b"b", b"c"]
    assert aborted == []
    assert [row.value for row in other] == [b"elsewhere"]


def test_the_end_at_read_committed_is_the_last_stable_offset(lab: BackendHarness) -> None:
    """BRK-06, CON-04: what an open transaction has written is no lag at read_committed."""
    topic = lab.topic()
    one = TopicPartition(topic, 0)
    lab.open_transaction(topic, b"1", b"2").commit_transaction(WAIT)
    lab.await_end(topic, 3)
    undecided = lab.open_transaction(topic, b"3", b"4")

    def ends() -> tuple[int, int]:
        readers = [kind.over(lab.backend, lab.runtime) for kind in (ReadCommitted, ReadUncommitted)]
        bounds = [reader.bounds([topic])[one] for reader in readers]
        assert [each.start for each in bounds] == [0, 0]
        return bounds[0].end, bounds[1].end

    assert ends() == (lab.end(topic, COMMITTED), lab.end(topic, UNCOMMITTED)) == (3, 5)
    undecided.abort_transaction(WAIT)
    lab.await_end(topic, 6)
    assert ends() == (6, 6)


def test_not_even_a_dirty_reader_sees_what_a_zombie_sends(lab: BackendHarness) -> None:
    """COR-03: the partition refuses the old epoch."""
    topic, shared = lab.topic(), lab.name()
    zombie = lab.open_transaction(topic, b"before", transactional_id=shared)
    lab.producer(shared)

    zombie.send_batch(ProducerBatch(topic, [b"after"] * 10, partition=0))
    with pytest.raises(ProducerFencedError):
        zombie.flush(WAIT)

    assert lab.values(topic) == []
    assert lab.values(topic, UNCOMMITTED) == [b"before"]
