"""A database that is restarted in the middle of any mode."""

from __future__ import annotations

from contextlib import suppress

import pytest

from eosfw.errors import RetriableError, TaskFailedError

from .reading import reading

MODES = ("bulk", "incrementing", "timestamp", "timestamp+incrementing")


def properties_of(database, mode, **more):
    dotted = {name.replace("_", "."): value for name, value in more.items()}
    given = {"connection.url": database.url, "mode": mode, "batch.max.rows": 2, "timestamp.column.name": "changed"}
    return given | ({"table.whitelist": "orders"} if "query" not in more else {}) | dotted


def insert_five(database, kind="timestamp(6)"):
    rows = ", ".join(f"({number}, '2020-01-01 00:00:00.123456')" for number in range(1, 6))
    database.execute(
        f"CREATE TABLE orders (id int PRIMARY KEY, changed {kind} NOT NULL)", f"INSERT INTO orders VALUES {rows}"
    )


@pytest.mark.parametrize("zoned", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_restart_of_the_database_is_seen_and_loses_nothing(database, mode, zoned):
    """SQL-08: a poll says that the database does not answer; once it does, rows follow those before."""
    plain, other = ("timestamp(6)", "timestamptz") if "postgresql" in database.url else ("datetime(6)", "timestamp(6)")
    insert_five(database, other if zoned else plain)
    with reading(properties_of(database, mode)) as task:
        assert [row["id"] for row in task.poll()] == [1, 2]
        found = []
        database.kill()
        task.now += 3600
        try:
            while True:
                # A driver may hold rows of the round already.
                found += task.poll()
                assert mode == "bulk"
                if len(found) == 3:
                    return
        except RetriableError as error:
            assert "does not answer" in str(error)  # noqa: PT017 - it may be raised later
            assert not task.task.at_end()
        finally:
            database.start()
        task.now += 3600
        while rows := task.poll():
            found += rows
        assert [row["id"] for row in found] == [3, 4, 5]


@pytest.mark.parametrize("mode", MODES)
def test_a_query_goes_on_behind_a_restart(database, mode):
    """SQL-12: as a table does."""
    insert_five(database)
    query = "SELECT id, changed FROM orders WHERE id <> 3"
    with reading(properties_of(database, mode, query=query, incrementing_column_name="id")) as task:
        found = task.poll()
        database.kill()
        database.start()
        with suppress(RetriableError):
            found += task.poll()
        found += task.poll()
        # Rows of one timestamp come in any order, since a query has no key.
        assert sorted(row["id"] for row in found) == [1, 2, 4, 5]


def test_a_task_fails_behind_the_last_attempt(postgresql):
    """SQL-17: `query.retry.attempts` counts failures in a row; what was read before is not lost."""
    insert_five(postgresql)
    with reading(properties_of(postgresql, "incrementing", query_retry_attempts=1)) as task:
        assert len(task.poll()) == 2
        postgresql.kill()
        try:
            with pytest.raises(RetriableError):
                task.poll()
            with pytest.raises(TaskFailedError, match="it was asked 2 times: restart the task once it answers"):
                task.poll()
        finally:
            postgresql.start()
        assert [row["id"] for row in task.poll()] == [3, 4]
        postgresql.kill()
        postgresql.start()
        with pytest.raises(RetriableError):
            task.poll()
