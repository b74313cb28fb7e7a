"""A table whose columns change while a task reads it."""

from __future__ import annotations

import pytest

from eosfw.errors import ConfigError

from .reading import reading


@pytest.mark.parametrize("change", ["DROP COLUMN item", "RENAME COLUMN item TO article"])
@pytest.mark.parametrize("mode", ["bulk", "incrementing", "timestamp", "timestamp+incrementing"])
def test_a_column_that_is_gone_ends_the_task_and_the_next_one_goes_on(database, mode, change):
    """SQL-07: it is no failure that passes, so it does not repeat its statement for ever."""
    database.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, item text, changed timestamp NOT NULL)",
        "INSERT INTO orders VALUES (1, 'a pen', '2020-01-01')",
    )
    properties = {
        "connection.url": database.url,
        "mode": mode,
        "table.whitelist": "orders",
        "timestamp.column.name": "changed",
    }
    offsets = {}
    with reading(properties, offsets) as task:
        task.rest()
        database.execute(f"ALTER TABLE orders {change}")
        database.execute("INSERT INTO orders (id, changed) VALUES (2, '2020-01-02')")
        with pytest.raises(ConfigError, match="if a column was dropped or renamed, restart the task"):
            task.rest()
    if mode == "timestamp":  # its offset tells rows by all of their columns
        return
    with reading(properties, offsets) as task:
        rows = task.rest()
    assert [row["id"] for row in rows] == ([1, 2] if mode == "bulk" else [2])
