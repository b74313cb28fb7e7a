"""Each mode goes on exactly behind what was read, whatever the timestamps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.errors import BadRequestError, DamagedDataError
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


@settings(max_examples=40)
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


def test_a_column_that_is_added_repeats_no_row(tmp_path):
    """SQL-03: the rows of the latest timestamp are known by the columns that they had, until there is a later one."""
    execute(tmp_path, ORDERS, *inserts([(1, 1), (2, 1)]))
    properties = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed")
    with reading(properties) as first:
        assert ids(first.rest()) == [1, 2]
    execute(tmp_path, "ALTER TABLE orders ADD COLUMN note TEXT DEFAULT 'none'")
    execute(tmp_path, "INSERT INTO orders VALUES (3, '2020-01-01 00:00:01', 'x')")
    with reading(properties, first.offsets) as second:
        assert ids(second.rest()) == [3]
    with reading(properties, second.offsets) as third:
        assert ids(third.rest()) == []
        execute(tmp_path, *(f"INSERT INTO orders VALUES ({one}, '2020-01-01 00:00:02', 'y')" for one in (4, 5)))
        assert ids(third.rest()) == [4, 5]
    execute(tmp_path, "UPDATE orders SET note = 'z' WHERE id = 5")
    with reading(properties, third.offsets) as fourth:
        assert ids(fourth.rest()) == [5]


def test_a_column_that_is_dropped_repeats_no_row_without_a_word(tmp_path):
    """SQL-03: nothing tells the rows of the latest timestamp that were read."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER, changed TIMESTAMP NOT NULL, note TEXT)")
    execute(tmp_path, "INSERT INTO orders VALUES (1, '2020-01-01 00:00:01', 'x')")
    properties = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed")
    with reading(properties) as first:
        assert ids(first.rest()) == [1]
    execute(tmp_path, "ALTER TABLE orders DROP COLUMN note")
    with reading(properties, first.offsets) as second, pytest.raises(DamagedDataError, match="no column note any more"):
        second.poll()
    with reading(properties, {"orders": {"timestamp": first.offsets["orders"]["timestamp"]}}) as third:
        assert ids(third.rest()) == [1]


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
    """SQL-04: a row in the future, or younger than the delay, is not read yet; whatever stands before its hour."""
    execute(tmp_path, ORDERS, *inserts([(1, 1)]), "INSERT INTO orders VALUES (2, '2999-01-01 00:00:00')")
    execute(tmp_path, "INSERT INTO orders VALUES (3, datetime('now', '-10 minutes'))")
    execute(tmp_path, "INSERT INTO orders VALUES (4, strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-10 minutes'))")
    properties = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed")
    for delay, due in ((0, [1, 3, 4]), (3_600_000, [1])):
        with reading(properties | {"timestamp.delay.interval.ms": delay}) as task:
            assert ids(task.rest()) == due


@pytest.mark.parametrize("mode", MODES[1:])
def test_the_present_as_first_timestamp_holds_beyond_a_restart(tmp_path, mode):
    """SQL-15: `timestamp.initial=-1` leaves out what stands there; the moment is committed before the first row."""
    execute(tmp_path, ORDERS, *inserts([(1, 1)]))
    properties = sqlite_properties(tmp_path, mode, timestamp_column_name="changed", timestamp_initial=-1)
    with reading(properties) as first:
        assert first.task.poll() is not None
        assert list(first.offsets) == []
    with reading(properties) as first:
        assert first.rest() == []
    assert list(first.offsets) == ["orders"]
    # It is older than the start of the second task, but not than that of the first.
    moment = first.offsets["orders"]["timestamp"]
    execute(tmp_path, f"INSERT INTO orders VALUES (2, '{moment}')")
    with reading(properties, first.offsets) as second:
        assert ids(second.rest()) == [2]


@pytest.mark.parametrize("mode", MODES[1:])
def test_the_first_of_several_timestamps_that_is_not_null_counts(tmp_path, mode):
    """SQL-15: as in Confluent's connector, so that the time of creation stands in for that of a change."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP, made TIMESTAMP NOT NULL)")
    execute(tmp_path, "INSERT INTO orders VALUES (1, '2020-01-03 00:00:00', '2020-01-01 00:00:00')")
    execute(tmp_path, "INSERT INTO orders VALUES (2, NULL, '2020-01-02 00:00:00')")
    properties = sqlite_properties(tmp_path, mode, timestamp_column_name="changed, made", batch_max_rows=1)
    with reading(properties) as task:
        assert ids(task.rest()) == [2, 1]
        execute(tmp_path, "UPDATE orders SET changed = '2020-01-04 00:00:00' WHERE id = 2")
        assert ids(task.rest()) == [2]


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


CHANGES = [
    ("timestamp", "timestamp+incrementing"),
    ("timestamp+incrementing", "timestamp"),
    ("timestamp+incrementing", "incrementing"),
    ("incrementing", "timestamp+incrementing"),
    ("timestamp", "incrementing"),
    *((mode, "bulk") for mode in MODES),
    *(("bulk", mode) for mode in MODES),
]


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_an_offset_of_another_mode_is_refused(tmp_path, before, after):
    """SQL-02: rows that were read would come again, or rows that were not be left out."""
    execute(tmp_path, ORDERS, *inserts([(1, 3), (2, 1), (3, 2)]))
    with reading(sqlite_properties(tmp_path, before, timestamp_column_name="changed")) as task:
        assert sorted(ids(task.poll())) == [1, 2, 3]
    given = sqlite_properties(tmp_path, after, timestamp_column_name="changed")
    with reading(given, task.offsets) as task, pytest.raises(DamagedDataError, match="reset the connector's offsets"):
        task.poll()


@pytest.mark.parametrize(
    ("mode", "offset"),
    [
        ("timestamp", {"timestamp": "s3cret", "rows": ""}),
        ("timestamp", {"timestamp": "2020-01-01 00:00:01", "rows": "%"}),
        ("timestamp+incrementing", {"timestamp": 5, "incrementing": 1}),
        ("incrementing", {"incrementing": "s3cret"}),
        ("bulk", {"round": 0, "row": 1, "after": "s3cret"}),
        ("bulk", {"round": 0, "row": 1, "after": "5"}),
    ],
)
def test_an_offset_that_was_spoiled_is_refused(tmp_path, mode, offset):
    """SQL-02: by one sentence without its text."""
    execute(tmp_path, ORDERS, *inserts([(1, 1)]))
    given = sqlite_properties(tmp_path, mode, timestamp_column_name="changed")
    with reading(given, {"orders": offset}) as task, pytest.raises(DamagedDataError, match="reset the con") as refused:
        task.poll()
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("mode", ["incrementing", "timestamp+incrementing"])
def test_rows_without_a_number_hold_up_no_others(tmp_path, mode):
    """SQL-02: a page of them alone looked like the end of the table."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER UNIQUE, changed TIMESTAMP NOT NULL)")
    rows = [("NULL", 1), ("NULL", 1), (1, 1), ("NULL", 2), ("NULL", 2), ("NULL", 2), (2, 3)]
    execute(tmp_path, *inserts(rows))
    more = {"incrementing_column_name": "id", "timestamp_column_name": "changed", "validate_non_null": "false"}
    with reading(sqlite_properties(tmp_path, mode, batch_max_rows=2, **more)) as task:
        assert ids(task.rest()) == [1, 2]


@pytest.mark.parametrize("mode", ["incrementing", "timestamp+incrementing"])
@pytest.mark.parametrize("number", ["1.5", "'s3cret'"])
def test_a_number_that_is_not_whole_is_refused(tmp_path, mode, number):
    """SQL-07: behind the whole number before it the row would come again and again."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER UNIQUE NOT NULL, changed TIMESTAMP NOT NULL)")
    execute(tmp_path, *inserts([(1, 1), (number, 1)]))
    more = {"incrementing_column_name": "id", "timestamp_column_name": "changed"}
    with reading(sqlite_properties(tmp_path, mode, **more)) as task:
        with pytest.raises(DamagedDataError, match="column id has a value that is no whole number") as refused:
            task.rest()
        assert "s3cret" not in str(refused.value)


def test_large_numbers_of_sqlite_keep_all_digits(tmp_path):
    """SQL-09, SQL-02: in the place of DECIMAL it has whole numbers of 64 bits, and floats."""
    execute(tmp_path, "CREATE TABLE orders (id DECIMAL(20, 0) PRIMARY KEY NOT NULL, price DECIMAL(9, 2), any NUMERIC)")
    execute(
        tmp_path, "INSERT INTO orders VALUES (9007199254740993, 3.5, 0.1), (9007199254740995, -1, 9007199254740993)"
    )
    with reading(sqlite_properties(tmp_path, "incrementing", batch_max_rows=1)) as task:
        assert [tuple(map(str, row.values())) for row in task.rest()] == [
            ("9007199254740993", "3.50", "0.1"),
            ("9007199254740995", "-1.00", "9007199254740993"),
        ]


PLACES = {
    "bulk": ({"round": 1, "row": 2}, {"round": 1, "row": 2, "after": "[7]"}),
    "incrementing": ({"incrementing": 7},),
    "timestamp": ({"timestamp": "2020-01-01 00:00:01"}, {"timestamp": "2020-01-01T00:00:01", "rows": ""}),
    "timestamp+incrementing": ({"timestamp": "2020-01-01 00:00:01", "incrementing": 7},),
}
SPOILED = {
    "bulk": ({}, {"round": 1, "row": "2"}, {"incrementing": 7}),
    "incrementing": ({"incrementing": "7"}, {"incrementing": 7, "timestamp": "2020-01-01"}, {"id": 7}),
    "timestamp": ({}, {"timestamp": "soon"}, {"timestamp": "2020-01-01", "rows": "!"}),
    "timestamp+incrementing": ({"incrementing": 7}, {"timestamp": "2020-01-01", "incrementing": 1.5}),
}


@pytest.mark.parametrize("mode", PLACES)
def test_offsets_are_altered_to_places_of_the_mode_alone(tmp_path, mode):
    """SQL-02, OFF-15: a task could not begin with another one, or would begin elsewhere."""
    execute(tmp_path, ORDERS)
    connector, orders = SqlSourceConnector(), {"protocol": "1", "table": "orders"}
    given = sqlite_properties(tmp_path, mode, timestamp_column_name="changed", table_whitelist="orders")
    config = connector.config.parse({"topic.prefix": "t-"} | {name: str(one) for name, one in given.items()})

    assert connector.alter_offsets(config, [(orders, place) for place in PLACES[mode]])
    assert connector.alter_offsets(config, [({"table": "that was read once"}, None)])
    for spoiled in SPOILED[mode]:
        with pytest.raises(BadRequestError):
            connector.alter_offsets(config, [(orders, spoiled)])
    for partition in ({"table": "orders"}, orders | {"table": "other"}, {"query": "query"}):
        with pytest.raises(BadRequestError):
            connector.alter_offsets(config, [(partition, PLACES[mode][0])])


def test_two_names_of_one_table_are_refused(tmp_path):
    """SQL-06: it would be read twice into one topic."""
    execute(tmp_path, ORDERS)
    given = sqlite_properties(tmp_path, "incrementing", table_whitelist="orders,main.orders")
    config = SqlSourceConnector.config.parse({"topic.prefix": "t-"} | {name: str(one) for name, one in given.items()})

    (problem,) = SqlSourceConnector().check(config)

    assert "orders and main.orders are one table; name it once" in str(problem)


@pytest.mark.parametrize("mode", ["incrementing", "bulk"])
def test_json_of_sqlite_is_the_text_that_the_database_has(tmp_path, mode):
    """SQL-09: numbers beyond a double, and what is no JSON, are there, too."""
    texts = ['{"a":1.10,"a":1e400}', "null", "no"]
    execute(tmp_path, "CREATE TABLE orders (id INTEGER PRIMARY KEY, doc JSON)")
    execute(tmp_path, *(f"INSERT INTO orders (doc) VALUES ('{one}')" for one in texts))
    with reading(sqlite_properties(tmp_path, mode)) as task:
        assert [row["doc"] for row in task.poll()] == texts
