"""A table that somebody has locked keeps nobody waiting but itself."""

from __future__ import annotations

import pytest

from .reading import reading


def rows_of(task, polls):
    found = []
    for _ in range(polls):
        task.now += 3600
        found += task.poll()
    return found


@pytest.mark.parametrize("mode", ["incrementing", "bulk"])
@pytest.mark.parametrize("known", [True, False])
def test_a_locked_table_keeps_no_other_from_being_read(database, mode, known):
    """SQL-14: whether it was read before or not. It is reported, read later, and no end until then."""
    database.execute(*(f"CREATE TABLE {name} (id int PRIMARY KEY)" for name in "ab"))
    with reading({"connection.url": database.url, "mode": mode, "table.whitelist": "a,b"}) as task:
        if known:
            rows_of(task, 2)
        database.execute("INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (2)")
        with database.locked("a"):
            assert {"id": 2} in rows_of(task, 4)
            assert {"id": 1} not in rows_of(task, 2)
            assert not task.task.at_end()
            assert [kind for kind, _, _ in task.context.notices] == ["locked tables"]
            assert "table a is locked" in task.context.notices[0][1]
        assert {"id": 1} in rows_of(task, 3)
        if mode == "incrementing":
            rows_of(task, 2)
            assert task.task.at_end()


def test_a_locked_table_is_no_database_that_does_not_answer(database):
    """SQL-14: a lock of any length is no reason for a task to fail, whatever query.retry.attempts says."""
    database.execute("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    given = {"mode": "incrementing", "table.whitelist": "a", "query.retry.attempts": 0}
    with reading({"connection.url": database.url, **given}) as task:
        with database.locked("a"):
            assert rows_of(task, 2) == []
        assert rows_of(task, 1) == [{"id": 1}]
