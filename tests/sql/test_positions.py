"""Each mode goes on exactly behind what was read, whatever the timestamps."""

from __future__ import annotations

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw_sql.connector import SqlSourceConnector

from .reading import execute, reading, sqlite_properties

MODES = ("incrementing", "timestamp", "timestamp+incrementing")
ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)"


def inserts(rows):
    return [f"INSERT INTO orders VALUES ({number}, '2020-01-01 00:00:{second:02}')" for number, second in rows]


def ids(rows):
    return [row["id"] for row in rows]


@pytest.mark.parametrize("mode", MODES)
def test_new_rows_follow_the_committed_offset(tmp_path, mode):
    """SQL-02: a new task gives what is behind the offset, and nothing else."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (2, 1), (3, 2)]))
    properties = sqlite_properties(tmp_path, mode, timestamp_column_name="changed", batch_max_rows=2)
    with reading(properties) as first:
        assert ids(first.poll()) == [1, 2]
    with reading(properties, first.offsets) as second:
        assert ids(second.rest()) == [3]
        execute(tmp_path, *inserts([(4, 2), (5, 3)]))
        assert ids(second.rest()) == [4, 5]


@given(times=st.lists(st.integers(0, 3), max_size=20), limit=st.integers(1, 5), data=st.data())
@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
def test_rows_that_share_a_timestamp_come_once(tmp_path_factory, mode, times, limit, data):
    """SQL-03: wherever a batch ends, and whenever the task is started anew."""
    folder = tmp_path_factory.mktemp("ties")
    rows = [(number, time) for number, time in enumerate(sorted(times))]
    split = data.draw(st.integers(0, len(rows)))
    execute(folder, ORDERS, *inserts(rows[:split]))
    properties = sqlite_properties(folder, mode, timestamp_column_name="changed", batch_max_rows=limit)
    found, offsets = [], {}
    for more in ([], inserts(rows[split:])):
        execute(folder, *more)
        while True:
            with reading(properties, offsets) as one:
                if not (polled := ids(one.poll())):
                    break
                found += polled

    assert found == [number for number, _ in rows]


def test_a_row_that_takes_the_latest_timestamp_afterwards_is_read(tmp_path):
    """SQL-03: mode timestamp knows the rows of the latest timestamp, not only how far it came."""
    execute(tmp_path, ORDERS, *inserts([(5, 1), (6, 1)]))
    with reading(sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed")) as task:
        assert ids(task.rest()) == [5, 6]
        execute(tmp_path, *inserts([(4, 1)]), "UPDATE orders SET changed = '2020-01-01 00:00:02' WHERE id = 5")
        assert ids(task.rest()) == [4, 5]


def test_the_offset_holds_the_rows_of_the_latest_timestamp_alone(tmp_path):
    """SQL-03: so that it does not grow with the table."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (2, 1), (3, 2)]))
    properties = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed", batch_max_rows=1)
    with reading(properties) as task:
        sizes = [len(task.offsets["orders"]["rows"]) for _ in range(3) if task.poll()]
    assert sizes == [16, 32, 16]


def test_equal_rows_without_a_key_are_all_read(tmp_path):
    """SQL-03: two rows that cannot be told apart are two records."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER, changed TIMESTAMP NOT NULL)", *inserts([(1, 1)] * 3))
    properties = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed", batch_max_rows=2)
    with reading(properties) as task:
        assert ids(task.rest()) == [1, 1, 1]
        execute(tmp_path, *inserts([(1, 1)]))
    with reading(properties, task.offsets) as again:
        assert ids(again.rest()) == [1]


@pytest.mark.parametrize("mode", ["bulk", *MODES])
def test_every_record_has_the_offset_behind_it(tmp_path, mode):
    """SQL-02: as the verification of runs, and contracts, ask for."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (2, 1), (3, 2)]))
    properties = sqlite_properties(tmp_path, mode, timestamp_column_name="changed")
    with reading(properties, record_offsets=True) as task:
        batch = task.task.poll()
    assert batch.source_offsets[-1] == batch.source_offset
    assert all(one != other for one, other in pairwise(batch.source_offsets))
    for done, offset in enumerate(batch.source_offsets[:-1], 1):
        with reading(properties, {"orders": offset}) as resumed:
            assert ids(resumed.poll()) == [1, 2, 3][done:]


def test_a_row_waits_behind_its_timestamp_for_the_delay(tmp_path):
    """SQL-04: a row in the future, or younger than the delay, is not read yet."""
    execute(tmp_path, ORDERS, *inserts([(1, 1)]), "INSERT INTO orders VALUES (2, '2999-01-01 00:00:00')")
    execute(tmp_path, "INSERT INTO orders VALUES (3, datetime('now', '-10 minutes'))")
    properties = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed")
    for delay, due in ((0, [1, 3]), (3_600_000, [1])):
        with reading(properties | {"timestamp.delay.interval.ms": delay}) as task:
            assert ids(task.rest()) == due


def test_the_first_timestamp_may_be_given(tmp_path):
    """SQL-04: `timestamp.initial` counts milliseconds, in the time zone of the database."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (2, 2), (3, 3)]))
    for zone, initial in (("UTC", 1_577_836_802_000), ("Asia/Tokyo", 1_577_836_802_000 - 9 * 3_600_000)):
        more = {"timestamp.initial": initial, "db.timezone": zone}
        for mode in MODES[1:]:
            properties = sqlite_properties(tmp_path, mode, timestamp_column_name="changed") | more
            with reading(properties) as task:
                assert ids(task.rest()) == [2, 3]
                assert task.context.notices == []


def test_bulk_reads_the_whole_table_in_each_round(tmp_path):
    """SQL-05: a round is one poll; the next one begins behind `poll.interval.ms`."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (2, 1)]))
    with reading(sqlite_properties(tmp_path, "bulk")) as task:
        assert ids(task.poll()) == [1, 2]
        assert task.poll() == []
        assert task.task.at_end()
        execute(tmp_path, *inserts([(3, 1)]))
        task.now += 5
        assert ids(task.poll()) == [1, 2, 3]
    assert task.offsets == {"orders": {"round": 2, "row": 0}}


@pytest.mark.parametrize("mode", MODES[1:])
def test_a_row_that_is_committed_too_late_is_reported(tmp_path, mode):
    """SQL-10: once, with the remedy; rows that were read, or stood there before the task, are none."""
    execute(tmp_path, ORDERS, *inserts([(2, 5), (3, 6)]))
    properties = sqlite_properties(tmp_path, mode, timestamp_column_name="changed")
    offsets = {}
    for number in (10, 11):  # the second one after a restart of the task
        with reading(properties, offsets) as task:
            task.rest()
            assert task.context.notices == []
            execute(tmp_path, *inserts([(number, 4)]))
            assert task.rest() == []
            assert [(kind, count) for kind, _, count in task.context.notices] == [("late rows", 1)]
            assert "set timestamp.delay.interval.ms above" in task.context.notices[0][1]
            task.rest()
            assert len(task.context.notices) == 1


def test_tables_are_split_over_tasks_and_selected(tmp_path):
    """SQL-11: each table belongs to one task."""
    execute(tmp_path, *(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)" for name in ("a", "b", "c", "log_1", "log_2")))
    for more, due in (
        ({}, [["a", "c", "log_2"], ["b", "log_1"]]),
        ({"table.include.list": "log_.*,a"}, [["a", "log_2"], ["log_1"]]),
        ({"table.blacklist": "a,log_1"}, [["b", "log_2"], ["c"]]),
        ({"table.whitelist": "c"}, [["c"]]),
        ({"schema.pattern": "ma%", "table.include.list": "main.a"}, [["main.a"]]),
    ):
        given = {"topic.prefix": "t-", **sqlite_properties(tmp_path, "bulk"), **more}
        shares = SqlSourceConnector().task_configs(SqlSourceConnector.config.parse(given), 2)
        assert [json.loads(share["task.tables"]) for share in shares] == due


def test_a_new_table_asks_for_other_tasks(tmp_path):
    """SQL-11: found by looking every `table.poll.interval.ms`."""
    execute(tmp_path, "CREATE TABLE a (id INTEGER PRIMARY KEY)")
    given = {"topic.prefix": "t-", **sqlite_properties(tmp_path, "bulk", table_poll_interval_ms="2000")}
    connector, asked = SqlSourceConnector(), []
    context = SimpleNamespace(request_task_reconfiguration=lambda: asked.append(1))
    connector.start(connector.config.parse(given), context)
    assert [connector.watch(), connector.watch(), len(asked)] == [2.0, 2.0, 0]
    execute(tmp_path, "CREATE TABLE b (id INTEGER PRIMARY KEY)")
    connector.watch()
    connector.stop()
    assert asked == [1]
