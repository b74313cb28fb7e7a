"""Numbers of a table that begin again are reported: no poll reads rows below the source offset."""

from __future__ import annotations

import pytest

from .reading import execute, reading, sqlite_properties

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY)"


def kinds(task):
    return [kind for kind, _, _ in task.context.notices]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_table_that_was_truncated_is_reported_once_it_has_rows_again(database, restarted):
    """SQL-19: at the start of a task, or while one idles, however long nothing has happened."""
    database.execute(ORDERS, "INSERT INTO orders VALUES (1), (2), (3)")
    properties = {"connection.url": database.url, "mode": "incrementing", "table.whitelist": "orders"}
    offsets = {}
    with reading(properties, offsets) as task:
        assert len(task.rest()) == 3
        assert [len(task.rest()) for _ in range(3)] == [0, 0, 0]
        database.execute("TRUNCATE TABLE orders")
        if not restarted:
            task.rest()
            assert kinds(task) == []
            database.execute("INSERT INTO orders VALUES (1), (2)")
            assert [len(task.rest()) for _ in range(3)] == [0, 0, 0]
            assert kinds(task) == ["restarted numbers"]
            assert "the largest id of table orders is 2, but rows up to 3 were read" in task.context.notices[0][1]
            return
    with reading(properties, offsets) as task:
        task.rest()
        assert kinds(task) == []
    database.execute("INSERT INTO orders VALUES (1), (2)")
    with reading(properties, offsets) as task:
        task.rest()
        assert kinds(task) == ["restarted numbers"]


def test_numbers_that_begin_again_twice_are_reported_twice(tmp_path):
    """SQL-19: where larger ones came between."""
    execute(tmp_path, ORDERS, "INSERT INTO orders VALUES (3)")
    properties = sqlite_properties(tmp_path, "incrementing", table_whitelist="orders")
    with reading(properties | {"incrementing.late.check.numbers": 0}) as task:
        for last in (3, 5):
            task.rest()
            execute(tmp_path, "DELETE FROM orders", "INSERT INTO orders VALUES (1)")
            task.rest()
            execute(tmp_path, f"INSERT INTO orders VALUES ({last + 2})")
            assert len(task.rest()) == 1
        assert kinds(task) == ["restarted numbers"] * 2


def test_an_idle_table_is_looked_at_once_a_minute(tmp_path):
    """SQL-19: a second statement at each poll would double what an idle table costs."""
    execute(tmp_path, ORDERS, "INSERT INTO orders VALUES (3)")
    with reading(sqlite_properties(tmp_path, "incrementing", table_whitelist="orders")) as task:
        task.rest()
        task.rest()
        execute(tmp_path, "DELETE FROM orders", "INSERT INTO orders VALUES (1)")
        task.now += 59
        assert task.poll() == []
        assert kinds(task) == []
        task.now += 5
        assert task.poll() == []
        assert kinds(task) == ["restarted numbers"]
