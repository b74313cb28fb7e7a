"""A read knows how far each of its partitions has come."""

from __future__ import annotations

from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange
from eosfw.state.read_progress import ReadProgress, slices_alike

A, B, EMPTY, GONE = (TopicPartition("t", number) for number in range(4))


def progress() -> ReadProgress:
    """Of two partitions with records, one without, and one whose records retention has deleted."""
    ranges = {
        A: OffsetRange(3, 5),
        B: OffsetRange(0, 9),
        EMPTY: OffsetRange(1000, int("1000")),
        GONE: OffsetRange(9, 8),
    }
    return ReadProgress(ranges)


def test_only_a_higher_position_advances_a_read() -> None:
    """LogReader: a repeated or unknown position does not extend the wait."""
    read = progress()

    assert [read.advance(A, position) for position in (None, 2, 3, 4, 4)] == [False, False, False, True, False]
    assert read.positions[A] == 4
    assert not read.advance(EMPTY, 2000)
    assert not read.advance(GONE, 2000)


def test_an_end_is_reached_by_position_not_by_records() -> None:
    """LogReader: control records behind the last record end a read, too; each partition is finished once."""
    read = progress()
    read.advance(A, 6)

    assert read.finished() == [A]
    assert read.finished() == []
    assert (read.positions, read.end(B)) == ({B: 0}, 9)
    assert not read.advance(A, 7)

    read.advance(B, 9)
    assert read.finished() == [B]


def test_each_slice_of_a_read_has_one_type_of_timestamps() -> None:
    """LogBatch: its type is that of all its records."""
    assert [range(6)[part] for part in slices_alike([0, 0, 1, 0, 1, 1])] == [
        range(2),
        range(2, 3),
        range(3, 4),
        range(4, 6),
    ]
    assert [range(3)[part] for part in slices_alike([1, 1, 1])] == [range(3)]
