"""Mode bulk gives all rows in each round, a few at a time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .reading import execute, reading, sqlite_properties

ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, n INTEGER)"
KEYS = {
    "number": "id INTEGER PRIMARY KEY, n INTEGER",
    "texts": "id TEXT, n INTEGER, PRIMARY KEY (n, id)",
    "none": "id INTEGER, n INTEGER",
}


def ids(rows):
    return [row["id"] for row in rows]


def test_bulk_reads_the_whole_table_in_each_round(tmp_path):
    """SQL-05: a round is some polls; the next one begins behind `poll.interval.ms`."""
    execute(tmp_path, ORDERS, "INSERT INTO orders (id) VALUES (1), (2), (3)")
    with reading(sqlite_properties(tmp_path, "bulk", batch_max_rows=2)) as task:
        assert ids(task.poll()) == [1, 2]
        assert not task.task.at_end()
        assert task.offsets == {"orders": {"round": 0, "row": 2, "after": "[2]"}}
        assert ids(task.poll()) == [3]
        assert task.offsets == {"orders": {"round": 1, "row": 0}}
        assert task.poll() == []
        assert task.task.at_end()
        execute(tmp_path, "INSERT INTO orders (id) VALUES (4)")
        task.now += 5
        assert [ids(task.poll()), ids(task.poll())] == [[1, 2], [3, 4]]
    assert task.offsets == {"orders": {"round": 2, "row": 0}}


@settings(max_examples=20)
@given(rows=st.integers(0, 9), limit=st.integers(1, 4), data=st.data())
@pytest.mark.parametrize("key", KEYS)
def test_a_round_that_is_stopped_goes_on_where_it_was(tmp_path_factory, key, rows, limit, data):
    """SQL-05: with a key of one column, of several, and without one."""
    folder = tmp_path_factory.mktemp("rounds")
    execute(folder, f"CREATE TABLE orders ({KEYS[key]})")
    numbers = data.draw(st.permutations(range(rows)))
    execute(folder, *(f"INSERT INTO orders VALUES ({one}, {one % 3})" for one in numbers))
    properties = sqlite_properties(folder, "bulk", batch_max_rows=limit)
    found, offsets = [], {}
    while len(found) < rows:
        with reading(properties, offsets) as task:
            for _ in range(data.draw(st.integers(1, 3))):
                found += ids(task.poll())
    assert sorted(map(int, found)) == list(range(rows))


def test_rows_that_are_deleted_or_inserted_while_a_round_is_stopped_shift_no_other(tmp_path):
    """SQL-05: the offset has the last key, not only the number of rows."""
    execute(tmp_path, ORDERS, "INSERT INTO orders (id) VALUES (2), (3), (4), (5)")
    properties = sqlite_properties(tmp_path, "bulk", batch_max_rows=2)
    with reading(properties) as task:
        assert ids(task.poll()) == [2, 3]
    execute(tmp_path, "DELETE FROM orders WHERE id = 2", "INSERT INTO orders (id) VALUES (1), (0)")
    with reading(properties, task.offsets) as task:
        assert ids(task.poll()) == [4, 5]


def test_a_key_that_is_no_number_and_no_text_counts_rows(tmp_path):
    """SQL-05: its values do not stand in an offset."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER, day DATE PRIMARY KEY)")
    execute(tmp_path, "INSERT INTO orders VALUES (2, '2020-01-02'), (1, '2020-01-01'), (3, '2020-01-03')")
    properties = sqlite_properties(tmp_path, "bulk", batch_max_rows=2)
    with reading(properties) as task:
        assert ids(task.poll()) == [1, 2]
    assert json.dumps(task.offsets) == '{"orders": {"round": 0, "row": 2}}'
    with reading(properties, task.offsets) as task:
        assert ids(task.poll()) == [3]
