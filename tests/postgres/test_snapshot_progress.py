"""The progress of a snapshot says which changes of its rows are news."""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw_postgres.pgoutput import Column, Relation
from eosfw_postgres.snapshot_progress import SnapshotProgress, VisibleTransactions


@pytest.mark.parametrize(("xid", "shown"), [(99, 1), (100, 0), (101, 1), (102, 0), (103, 1), (104, 0), (2**32 - 1, 1)])
def test_a_snapshot_shows_what_was_committed_before_it(xid, shown):
    """PGC-11: the stream tells 32 bits of an id that has 64."""
    for epoch in (0, 2**32, 7 * 2**32):
        low, high, running = (epoch + number for number in (100, 104, 102))
        snapshot = VisibleTransactions(f"{low}:{high}:{low},{running}")
        if epoch or xid < 2**31:
            assert snapshot.shows(xid) == shown


def test_the_progress_survives_the_offsets_topic():
    """PGC-11: it is a text in the source offset."""
    relation = Relation(1, "s", "t", "d", (Column("id", 23, -1, True),))
    progress = SnapshotProgress().with_snapshot(VisibleTransactions("5:5:"), 1, 9).at(relation, ("10",))
    progress = progress.with_snapshot(VisibleTransactions("8:8:"), 2, 12).at(relation, None)

    again = SnapshotProgress.of(progress.text())

    assert again == progress
    assert [again.is_news(relation, [key], 6) for key in ("9", "10", "11")] == [True, True, False]


def test_attempts_that_read_nothing_leave_nothing_in_the_offset():
    """PGC-11: or it would grow for as long as a table keeps the snapshot waiting."""
    relation = Relation(1, "s", "t", "d", (Column("id", 23, -1, True),))
    nothing, some, more, last = (VisibleTransactions(f"{number}:{number}:") for number in (5, 6, 7, 8))

    progress = SnapshotProgress().with_snapshot(nothing, 1, 9).with_snapshot(some, 2, 10).at(relation, ("10",))
    progress = progress.with_snapshot(more, 3, 11).with_snapshot(last, 4, 12).at(relation, None)

    assert progress.snapshots == (some, last)
    assert [progress.is_news(relation, [key], 6) for key in ("9", "10", "11")] == [True, True, False]


def test_the_offset_of_a_snapshot_has_room_for_many_tables():
    """PGC-11: Kafka takes records of 1 MiB. Of a table that was read at once its key is not needed any more."""
    relations = [Relation(at, f"tenant_{at}", "orders", "d", (Column("id", 23, -1, True),)) for at in range(20_000)]
    tables = {f"{one.namespace}.{one.name}": ((0, None),) for one in relations[1:]}
    progress = SnapshotProgress(tables=tables).with_snapshot(VisibleTransactions("5:5:"), 1, 9).at(relations[0], ("1",))

    assert progress.keys == {"tenant_0.orders": (("id", 23),)}
    progress = progress.at(relations[0], None)
    assert progress.keys == {}
    assert len(progress.text()) < 2**18
    assert SnapshotProgress.of(progress.text()) == progress
    assert progress.text() is progress.text()  # made once for all changes that follow


def test_an_offset_that_was_not_written_by_a_snapshot_is_refused():
    """PGC-11: whatever stands there."""
    for text in ("", "{}", "eA==", "no", "{"):
        with pytest.raises(DamagedDataError, match="reset its offsets"):
            SnapshotProgress.of(text)


@pytest.mark.parametrize("tables", [1, 2_000])
def test_the_offsets_of_many_rows_are_those_of_each(tables):
    """PGC-11: made at once, or each row would cost what all tables before it do."""
    relation = Relation(1, "s", "t", "d", (Column("id", 25, -1, True), Column("n", 23, -1, True)))
    progress = SnapshotProgress(tables={f"s.{at}": ((0, None),) for at in range(tables)})
    progress = progress.with_snapshot(VisibleTransactions("5:5:"), 1, 9).at(relation, ("a", "1"))
    progress = progress.with_snapshot(VisibleTransactions("8:8:"), 2, 12)
    keys = [("a", "2"), ('"\\', "3"), ("é", "-4")]

    assert list(progress.texts_at(relation, keys)) == [progress.at(relation, key).text() for key in keys]
