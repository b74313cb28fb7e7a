"""What PostgreSQL alone has."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from eosfw.data import INT32, STRING, TIMESTAMP, array, decimal, struct
from eosfw.errors import ConfigError, DamagedDataError

from .reading import reading


@pytest.fixture
def properties(postgres_server):
    return {
        "connection.url": f"postgresql+psycopg://postgres@/postgres?host={postgres_server.host}",
        "table.whitelist": "orders",
        "timestamp.column.name": "changed",
        "batch.max.rows": 2,
    }


def test_types_of_postgresql_have_schemas_and_values(session, properties):
    """SQL-09: as Connect has them; `numeric.mapping` decides about numbers."""
    session.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, small smallint, price numeric(9, 2), many numeric(4, 0), "
        "any_number numeric, ratio real, yes bool, day date, at time, changed timestamptz NOT NULL, raw bytea, "
        "doc jsonb, key uuid, name varchar(5))"
    )
    session.execute(
        "INSERT INTO orders VALUES (1, 2, 3.50, 4, 1.250, 0.5, true, '2020-01-02', '03:04:05', "
        """'2020-01-01 00:00:00+01', '\\x00ff', '{"a": 1}', '00000000-0000-0000-0000-000000000001', 'x')"""
    )
    with reading(properties | {"mode": "incrementing", "numeric.mapping": "best_fit"}) as task:
        batch = task.task.poll()
    (row,) = batch.values
    assert row == {
        "id": 1, "small": 2, "price": 3.5, "many": 4, "any_number": "1.250", "ratio": 0.5, "yes": True,
        "day": date(2020, 1, 2), "at": time(3, 4, 5), "changed": datetime(2019, 12, 31, 23, tzinfo=UTC),
        "raw": b"\x00\xff", "doc": '{"a": 1}', "key": "00000000-0000-0000-0000-000000000001", "name": "x",
    }  # fmt: skip
    assert batch.value_schema.field("price").type.name == "FLOAT64"
    assert batch.value_schema.field("many").type.name == "INT16"
    with reading(properties | {"mode": "incrementing"}) as task:
        assert next(iter(task.task.poll().values))["price"] == Decimal("3.50")


def test_numbers_have_all_digits_and_times_are_read_whatever_the_role_says(session, properties):
    """SQL-09: with fewer digits they are others, as by default before version 12; drivers read times of ISO alone."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, ratio float8, changed timestamptz)")
    session.execute("INSERT INTO orders VALUES (1, 0.12345678901234568, '2024-03-02 01:00+00')")
    session.execute("ALTER ROLE postgres SET extra_float_digits = 0")
    session.execute("ALTER ROLE postgres SET DateStyle = 'German, DMY'")
    try:
        with reading(properties | {"mode": "incrementing"}) as task:
            assert task.rest() == [
                {"id": 1, "ratio": 0.12345678901234568, "changed": datetime(2024, 3, 2, 1, tzinfo=UTC)}
            ]
    finally:
        session.execute("ALTER ROLE postgres RESET ALL")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_texts_are_those_of_the_database_whatever_encoding_the_role_has(session, properties, encoding):
    """SQL-09: a database of SQL_ASCII has it by itself, and the driver gives its texts as bytes."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, name text)")
    session.execute("INSERT INTO orders VALUES (1, 'ü€')")
    session.execute(f"ALTER ROLE postgres SET client_encoding = '{encoding}'")
    try:
        with reading(properties | {"mode": "incrementing"}) as task:
            assert task.rest() == [{"id": 1, "name": "ü€"}]
    finally:
        session.execute("ALTER ROLE postgres RESET client_encoding")


def test_json_is_the_text_that_the_database_has(session, properties):
    """SQL-09: its numbers may have more digits than a double, a name may come twice, and null is JSON, too."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, plain json, made jsonb, many jsonb[])")
    session.execute("""INSERT INTO orders VALUES (1, '{"a":1.10,  "a":1e400}', '1.10', '{1.10,NULL}')""")
    session.execute("INSERT INTO orders VALUES (2, 'null', 'null', NULL), (3, NULL, NULL, NULL)")
    with reading(properties | {"mode": "incrementing"}) as task:
        found = [list(row.values())[1:] for _ in range(2) for row in task.poll()]
    assert found == [['{"a":1.10,  "a":1e400}', "1.10", ["1.10", None]], ["null", "null", None], [None, None, None]]


def test_columns_with_a_collation_and_numbers_of_the_server_are_read(session, properties):
    """SQL-09: SQLAlchemy asks for what is known of them as JSON, which is left as text in rows."""
    session.execute(
        'CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY, name text COLLATE "C" PRIMARY KEY, doc json)'
    )
    session.execute("INSERT INTO orders (name, doc) VALUES ('b', '[1.0]'), ('A', NULL), ('a', '{}')")
    with reading(properties | {"mode": "bulk"}) as task:
        found = [row for _ in range(2) for row in task.poll()]
    assert found == [
        {"id": 2, "name": "A", "doc": None}, {"id": 3, "name": "a", "doc": "{}"}, {"id": 1, "name": "b", "doc": "[1.0]"}
    ]  # fmt: skip


def test_a_time_with_a_zone_is_that_of_utc(session, properties):
    """SQL-09: its schema has no zone."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, at timetz)")
    session.execute("INSERT INTO orders VALUES (1, '12:00:00.5+05'), (2, '23:30-02')")
    with reading(properties | {"mode": "incrementing"}) as task:
        assert [row["at"] for row in task.poll()] == [time(7, 0, 0, 500000), time(1, 30)]


def test_a_column_of_a_type_without_schema_is_refused(session, properties):
    """SQL-07: with its name; SQLAlchemy warns of types that it does not know, which says nothing more."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, lasts interval, place point)")
    with (
        reading(properties | {"mode": "bulk"}) as task,
        pytest.raises(
            ConfigError, match="not supported: lasts, place; leave the table out, or read it by a query that casts them"
        ),
    ):
        task.poll()


def test_arrays_have_a_schema_of_their_items(session, properties):
    """SQL-09: also of items that have to be converted; an item may be null."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, tags text[], days timestamp[], prices numeric(4, 1)[])")
    session.execute("INSERT INTO orders VALUES (1, '{a,NULL}', '{2020-01-01}', '{1.5}'), (2, NULL, '{}', NULL)")
    with reading(properties | {"mode": "incrementing"}) as task:
        batch = task.task.poll()
    assert list(batch.values) == [
        {"id": 1, "tags": ["a", None], "days": [datetime(2020, 1, 1, tzinfo=UTC)], "prices": [Decimal("1.5")]},
        {"id": 2, "tags": None, "days": [], "prices": None},
    ]
    assert batch.value_schema == struct(
        {
            "id": INT32,
            "tags": array(STRING.as_optional()).as_optional(),
            "days": array(TIMESTAMP.as_optional()).as_optional(),
            "prices": array(decimal(1).as_optional()).as_optional(),
        },
        name="orders",
    )


def test_an_array_in_an_array_of_texts_is_refused(session, properties):
    """SQL-07: a column has no number of dimensions in PostgreSQL, and Python shows a list in its own way."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, tags text[])")
    session.execute("INSERT INTO orders VALUES (1, '{{a,b}}')")
    with (
        reading(properties | {"mode": "incrementing"}) as task,
        pytest.raises(DamagedDataError, match="column tags of table orders has a value that is none of its type"),
    ):
        task.poll()


def test_views_are_read_where_they_are_asked_for(session, properties):
    """SQL-13: materialized ones, too; only the columns of the mode have to be there."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    session.execute("CREATE VIEW seen AS SELECT id + 10 AS number FROM orders")
    session.execute("CREATE MATERIALIZED VIEW kept AS SELECT id + 20 AS number FROM (VALUES (1)) AS o (id)")
    session.execute("INSERT INTO orders VALUES (1)")
    del properties["table.whitelist"]
    given = properties | {"mode": "incrementing", "incrementing.column.name": "number"}
    with reading(given | {"table.types": "view, materialized view"}) as task:
        assert sorted(row["number"] for row in task.rest()) == [11, 21]
        assert sorted(task.offsets) == ["kept", "seen"]


def test_rows_of_a_round_are_fetched_a_few_at_a_time(session, properties):
    """SQL-05: the server holds them, so that a table needs no memory here; a round sees one state of it."""
    session.execute("CREATE TABLE orders (id int, doc json)")
    session.execute("""INSERT INTO orders SELECT n, '{"a": 1}' FROM generate_series(1, 5) n""")
    with reading(properties | {"mode": "bulk"}) as task:
        found = task.poll()
        session.execute("DELETE FROM orders")
        while rows := task.poll():
            found += rows
    assert [row["id"] for row in found] == [1, 2, 3, 4, 5]


def test_a_moment_that_python_does_not_have_is_refused(session, properties):
    """SQL-07: the task says what it is, and reads no further."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, at timestamptz)")
    session.execute("INSERT INTO orders VALUES (1, 'infinity')")
    with (
        reading(properties | {"mode": "incrementing"}) as task,
        pytest.raises(DamagedDataError, match=r"^table orders of database .* holds a value that cannot be read"),
    ):
        task.poll()


def test_a_label_that_was_added_to_an_enum_is_read(session, properties):
    """SQL-09: also while the task runs, which has looked the table up before."""
    session.execute("CREATE TYPE mood AS ENUM ('good')")
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, kind mood)")
    session.execute("INSERT INTO orders VALUES (1, 'good')")
    with reading(properties | {"mode": "incrementing"}) as task:
        assert [row["kind"] for row in task.rest()] == ["good"]
        session.execute("ALTER TYPE mood ADD VALUE 'bad'")
        session.execute("INSERT INTO orders VALUES (2, 'bad')")
        assert [row["kind"] for row in task.rest()] == ["bad"]


def test_an_enum_in_the_key_orders_a_round(session, properties):
    """SQL-05: as the server compares its labels."""
    session.execute("CREATE TYPE mood AS ENUM ('z', 'a')")
    session.execute("CREATE TABLE orders (kind mood, id int, PRIMARY KEY (kind, id))")
    session.execute(
        "INSERT INTO orders SELECT kind::mood, id FROM unnest('{z,a}'::text[]) AS kind, generate_series(1, 2) AS id"
    )
    with reading(properties | {"mode": "bulk"}) as task:
        assert [tuple(row.values()) for row in task.poll()] == [("z", 1), ("z", 2)]
    with reading(properties | {"mode": "bulk"}, task.offsets) as task:
        assert [tuple(row.values()) for row in task.poll()] == [("a", 1), ("a", 2)]


def test_rows_are_the_same_in_sessions_of_another_time_zone(session, properties):
    """SQL-03: the zone in which the server shows them is no part of them."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, changed timestamptz NOT NULL)")
    session.execute("INSERT INTO orders VALUES (1, '2020-01-01')")
    given = properties | {"mode": "timestamp"}
    with reading(given) as task:
        assert len(task.rest()) == 1
    other = {"connection.url": properties["connection.url"] + "&options=-c%20TimeZone%3DAsia%2FTokyo"}
    with reading(given | other, task.offsets) as task:
        assert task.rest() == []


@pytest.mark.parametrize(("more", "user_timeout"), [("", 90_000), ("&tcp_user_timeout=5000", 5000)])
def test_a_server_that_vanishes_is_noticed(session, properties, more, user_timeout):
    """SQL-08: one whose machine lost its power ends no connection, and Linux alone would wait for two hours."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    with reading(properties | {"mode": "incrementing", "connection.url": properties["connection.url"] + more}) as task:
        task.poll()
        with task.task._database._connect() as connection:
            given = connection.connection.dbapi_connection.info.get_parameters()
    assert int(given["keepalives_idle"]) + int(given["keepalives_interval"]) * int(given["keepalives_count"]) <= 120
    assert int(given["tcp_user_timeout"]) == user_timeout
