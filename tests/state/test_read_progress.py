"""A read knows how far each of its partitions has come."""

from __future__ import annotations

from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw.state.read_progress import ReadProgress

A, B, EMPTY = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2)


def progress() -> ReadProgress:
    return ReadProgress({A: OffsetRange(3, 5), B: OffsetRange(0, 9), EMPTY: OffsetRange(4, 4)})


def test_only_a_higher_position_advances_a_read() -> None:
    """LogReader: a repeated or unknown position does not extend the wait."""
    read = progress()

    assert [read.advance(A, position) for position in (None, 2, 3, 4, 4)] == [False, False, False, True, False]
    assert read.positions[A] == 4
    assert not read.advance(EMPTY, 7)


def test_an_end_is_reached_by_position_not_by_records() -> None:
    """LogReader: control records behind the last record end a read, too; each partition is finished once."""
    read = progress()
    read.advance(A, 6)

    assert read.finished() == [A]
    assert read.finished() == []
    assert (read.positions, read.end(B)) == ({B: 0}, 9)
    assert not read.advance(A, 7)
