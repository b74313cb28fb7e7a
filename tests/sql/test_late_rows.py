"""Rows that are committed behind what was read are reported."""

from __future__ import annotations

import pytest

from .reading import execute, reading, sqlite_properties

ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)"
MODES = ("incrementing", "timestamp", "timestamp+incrementing")


def inserts(rows):
    return [f"INSERT INTO orders VALUES ({number}, '2020-01-01 00:00:{second:02}')" for number, second in rows]


@pytest.mark.parametrize("mode", MODES)
def test_a_row_that_is_committed_too_late_is_reported(tmp_path, mode):
    """SQL-10: once, with the remedy; rows that were read, or stood there before the task, are none."""
    execute(tmp_path, ORDERS, *inserts([(12, 5), (13, 6)]))
    properties = sqlite_properties(tmp_path, mode, timestamp_column_name="changed")
    offsets = {}
    for number in (10, 11):  # the second one after a restart of the task
        with reading(properties, offsets) as task:
            task.rest()
            assert task.context.notices == []
            execute(tmp_path, *inserts([(number, 4)]))
            assert task.rest() == []
            assert [(kind, count) for kind, _, count in task.context.notices] == [("late rows", 1)]
            assert "timestamp.delay.interval.ms" in task.context.notices[0][1]
            task.rest()
            assert len(task.context.notices) == 1


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_were_the_latest_ones_are_not_late_when_others_follow(tmp_path, mode):
    """SQL-10: whenever the task looks between them."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (2, 1)]))
    with reading(sqlite_properties(tmp_path, mode, timestamp_column_name="changed")) as task:
        for number in (3, 4, 5):
            task.rest()
            execute(tmp_path, *inserts([(number, number)]))
        task.rest()
        assert task.context.notices == []


@pytest.mark.parametrize("mode", MODES)
def test_nobody_looks_for_late_rows_of_a_table_in_which_nothing_happens(tmp_path, mode):
    """SQL-10: a second statement at each poll would double what an idle table costs."""
    execute(tmp_path, ORDERS, *inserts([(12, 5), (13, 6)]))
    with reading(sqlite_properties(tmp_path, mode, timestamp_column_name="changed")) as task:
        task.rest()
        task.rest()  # the last look
        execute(tmp_path, *inserts([(10, 4)]))
        task.rest()
        assert task.context.notices == []
        execute(tmp_path, *inserts([(14, 7)]))
        task.rest()
        assert [count for _, _, count in task.context.notices] == [1]


@pytest.mark.parametrize(
    ("mode", "switch"), [("incrementing", "incrementing.late.check.numbers"), ("timestamp", "timestamp.late.check.ms")]
)
def test_the_look_for_late_rows_can_be_switched_off(tmp_path, mode, switch):
    """SQL-10: by 0."""
    execute(tmp_path, ORDERS, *inserts([(12, 5)]))
    with reading(sqlite_properties(tmp_path, mode, timestamp_column_name="changed") | {switch: 0}) as task:
        task.rest()
        execute(tmp_path, *inserts([(10, 4)]))
        task.rest()
        assert task.context.notices == []


def test_numbers_that_are_missing_are_no_late_rows_and_far_ones_are_not_looked_for(tmp_path):
    """SQL-10: a transaction that was rolled back leaves a gap; `incrementing.late.check.numbers` bounds the look."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (5, 1), (100, 1)]))
    properties = sqlite_properties(tmp_path, "incrementing") | {"incrementing.late.check.numbers": 10}
    with reading(properties) as task:
        task.rest()
        execute(tmp_path, *inserts([(3, 1)]))
        task.rest()
        assert task.context.notices == []
