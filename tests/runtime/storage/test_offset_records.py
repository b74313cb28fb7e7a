"""Source offsets are read once by a worker, and each start of a task sees all of them all the same (OFF-02)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.counting import CountingConnector
from tests.runtime.worker_harness import WorkerHarness

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import RetriableError
from eosfw.ids import TopicPartition
from eosfw.records import LogBatch, OffsetRange
from eosfw.runtime.storage.offset_records import OffsetRecords, Ranges

OFFSETS = "g-offsets"
ONLY = TopicPartition("offsets", 0)
NO_ID = "A" * 22
NOW = count()


class Time(ThreadRuntime):
    """Each look at the clock is later than the one before."""

    at = 0.0

    def now(self) -> float:
        self.at += 1
        return self.at


class Topic:
    """A compacted topic with one partition, and what is read of it."""

    def __init__(self, topic_id: str = "first") -> None:
        self.id, self.start = topic_id, 0
        self.log: list[tuple[bytes | None, bytes | None, int]] = []
        """Keys, values and timestamps; a control record has neither key nor value."""
        self.read: list[tuple[int, int]] = []
        self.meanwhile: Callable[[], object] = lambda: None
        """Happens once, after the first record of a read."""

    def append(self, *records: tuple[bytes | None, bytes | None]) -> None:
        self.log += [(key, value, next(NOW)) for key, value in records]

    def newest_by(self, known: OffsetRecords) -> dict[bytes | None, bytes | None]:
        found = known.read(self.id, self._ranges, self._read)
        for one in found:
            stated = zip(one.keys, one.values, one.timestamps, strict=True)
            assert list(stated) == [self.log[offset] for offset in one.offsets]
            assert list(one.offsets) == sorted(one.offsets)
        return {key: value for one in found for key, value in zip(one.keys, one.values, strict=True)}

    def newest(self) -> dict[bytes, bytes]:
        """What a reader from the beginning on finds."""
        found = {key: value for key, value, _ in self.log[self.start :] if key is not None}
        return {key: value for key, value in found.items() if value is not None}

    def _ranges(self) -> Ranges:
        return {ONLY: OffsetRange(self.start, len(self.log))} if len(self.log) > self.start else {}

    def _read(self, ranges: Ranges) -> Iterator[LogBatch]:
        for found in ranges.values():
            self.read.append((found.start, found.end))
            for offset in range(found.start, found.end):
                key, value, timestamp = self.log[offset]
                if (key, value) != (None, None):
                    yield LogBatch(*ONLY, [offset], [key], [value], [timestamp])
                meanwhile, self.meanwhile = self.meanwhile, lambda: None
                meanwhile()


@pytest.fixture
def known() -> OffsetRecords:
    return OffsetRecords(Time())


def test_a_reader_reads_only_what_came_since_the_one_before(known: OffsetRecords):
    topic = Topic()
    topic.append((b"a", b"1"), (b"b", b"1"), (None, None))
    assert topic.newest_by(known) == {b"a": b"1", b"b": b"1"}
    topic.append((b"a", b"2"), (None, None), (b"b", None))

    assert topic.newest_by(known) == {b"a": b"2"}
    assert topic.newest_by(known) == {b"a": b"2"}
    assert topic.read == [(0, 3), (1, 6), (5, 6)], "the last record is read again"


def test_nothing_is_known_of_a_topic_that_was_created_anew(known: OffsetRecords):
    topic = Topic()
    topic.append((b"a", b"7"))
    topic.newest_by(known)

    again = Topic("second")
    again.append((b"b", b"1"), (b"c", b"1"))
    assert again.newest_by(known) == {b"b": b"1", b"c": b"1"}
    assert Topic("third").newest_by(known) == {}


def test_a_topic_without_an_id_is_read_from_its_beginning_each_time(known: OffsetRecords):
    """Brokers before Kafka 2.8 cannot say whether it was created anew."""
    topic = Topic(NO_ID)
    topic.append((b"a", b"1"))

    assert [topic.newest_by(known) for _ in range(2)] == [{b"a": b"1"}] * 2
    assert topic.read == [(0, 1)] * 2


@pytest.mark.parametrize("since", [0, 1, 2, 3, 4])
def test_what_a_broker_has_lost_is_forgotten_whatever_it_has_written_since(known: OffsetRecords, since: int):
    topic = Topic()
    topic.append((b"a", b"1"), (b"a", b"2"), (b"b", b"1"), (None, None))
    topic.newest_by(known)

    del topic.log[1:]
    topic.append(*[(b"c", b"%d" % number) for number in range(since)])
    assert topic.newest_by(known) == topic.newest()


def test_what_was_deleted_at_the_beginning_is_forgotten(known: OffsetRecords):
    topic = Topic()
    topic.append((b"a", b"1"), (b"b", b"1"))
    topic.newest_by(known)

    topic.start = 1
    assert topic.newest_by(known) == {b"b": b"1"}


def test_a_reader_that_asked_earlier_takes_nothing_for_lost(known: OffsetRecords):
    """Between its question for the end and its read, another one may have read further."""
    topic = Topic()
    topic.append((b"a", b"1"))

    def meanwhile() -> None:
        topic.append((b"b", b"1"))
        assert topic.newest_by(known) == {b"a": b"1", b"b": b"1"}

    topic.meanwhile = meanwhile
    assert topic.newest_by(known) == {b"a": b"1", b"b": b"1"}
    assert topic.newest_by(known) == {b"a": b"1", b"b": b"1"}
    assert topic.read[:2] == [(0, 1), (0, 2)]
    assert 0 not in [start for start, _ in topic.read[2:]]


def test_a_read_that_fails_loses_nothing(known: OffsetRecords):
    topic = Topic()
    topic.append((b"a", b"1"), (b"a", b"2"))

    def fail() -> None:
        raise RetriableError("the broker is gone")

    topic.meanwhile = fail
    with pytest.raises(RetriableError):
        topic.newest_by(known)
    assert topic.newest_by(known) == {b"a": b"2"}
    assert topic.read == [(0, 2), (0, 2)]


KEYS = st.sampled_from([b"a", b"b", b"c", None])
VALUES = st.sampled_from([b"1", b"2", None])
APPEND = st.lists(st.tuples(KEYS, VALUES), max_size=4)


@given(st.lists(st.one_of(APPEND, st.sampled_from(["anew", "lose", "delete"])), max_size=12), st.integers(0, 12))
def test_whoever_reads_finds_what_a_reader_from_the_beginning_on_finds(steps, beside):
    """Whatever becomes of the topic, and though another one reads in the middle of it."""
    known, topic = OffsetRecords(Time()), Topic("0")
    for number, step in enumerate(steps):
        match step:
            case "anew":
                topic = Topic(str(number))
            case "lose":
                del topic.log[max(topic.start, len(topic.log) - 2) :]
            case "delete":
                topic.start = min(len(topic.log), topic.start + 1)
            case _:
                topic.append(*step)
        if number == beside:
            topic.meanwhile = lambda now=topic: now.append((b"a", b"3")) or now.newest_by(known)
            topic.newest_by(known)
            topic.meanwhile = lambda: None
        assert topic.newest_by(known) == topic.newest()


# --- in a worker


def test_a_task_that_starts_reads_no_offsets_that_another_one_has_read():
    with WorkerHarness(CountingConnector(), offset_storage_partitions="1") as stage:
        for name in "abcd":
            stage.put(name, until="3")
            stage.until_drained()
        starts = [one.start for read in stage.cluster.reads for where, one in read.items() if where.topic == OFFSETS]
        assert len(stage.cluster.logs[TopicPartition(OFFSETS, 0)]) == 4 * 3
    assert starts == [0, 2, 5], "the first one finds nothing, and each reads the last record again"
