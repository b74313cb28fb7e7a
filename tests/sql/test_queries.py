"""A query is read in the place of tables."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from eosfw.data import FLOAT64, INT32, INT64, STRING, TIMESTAMP, decimal, struct
from eosfw.errors import ConfigError
from eosfw_sql.connector import SqlSourceConnector

from .reading import execute, reading, sqlite_properties

MODES = ("bulk", "incrementing", "timestamp", "timestamp+incrementing")
SHOP = (
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, item INTEGER, changed TIMESTAMP NOT NULL)",
    "CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR(20))",
    "INSERT INTO items VALUES (1, 'a pen'), (2, ':book 100% \\:x')",
    *(f"INSERT INTO orders VALUES ({n}, {n % 3}, '2020-01-01 00:00:0{n // 2}')" for n in range(1, 9)),
)
JOINED = """
SELECT o.id AS number, i.name, o.changed FROM orders o JOIN items i ON i.id = o.item
WHERE i.name <> ':none' AND i.name NOT LIKE '%x:y' ORDER BY i.name;
"""


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_a_query_go_to_the_topic_of_the_prefix(tmp_path, mode):
    """SQL-12: in every mode, also with a WHERE, colons and per cent signs of its own; a new task goes on."""
    execute(tmp_path, *SHOP)
    given = sqlite_properties(tmp_path, mode, query=JOINED, batch_max_rows=2, timestamp_column_name="changed")
    given |= {"incrementing.column.name": "number", "topic.prefix": "joined"}
    with reading(given) as first:
        batch = first.task.poll()
        first.offsets["query"] = batch.source_offset
    assert (batch.topic, batch.source_partition) == ("joined", {"query": "query"})
    assert batch.value_schema == struct(
        {"number": INT64.as_optional(), "name": STRING.as_optional(), "changed": TIMESTAMP.as_optional()}
    )
    found = list(batch.values)
    with reading(given, first.offsets) as second:
        found += second.rest()
    assert sorted(row["number"] for row in found) == [1, 2, 4, 5, 7, 8]
    assert {row["name"] for row in found} == {"a pen", ":book 100% \\:x"}


@pytest.mark.parametrize("name", ["table.whitelist", "table.include.list", "table.blacklist", "schema.pattern"])
def test_a_query_and_tables_contradict_each_other(tmp_path, name):
    """SQL-12: as in Confluent's connector."""
    given = sqlite_properties(tmp_path, "bulk", query="SELECT 1", topic_prefix="t") | {name: "a"}
    (problem,) = SqlSourceConnector().problems(SqlSourceConnector.config.parse(given))
    assert str(problem) == f"query: it names what is read; remove {name}"


@pytest.mark.parametrize(
    ("query", "mode", "sentence"),
    [
        ("SELECT id FROM missing", "bulk", "no such table"),
        ("SELECT id FRO orders", "bulk", "syntax error"),
        ("SELECT id FROM orders WHERE 's3cret' = 'x'", "timestamp", "the query has no column 'changed'; it has: id"),
        ("SELECT id FROM orders", "incrementing", "the query has no key of one column; name a unique column"),
        (
            "SELECT id + 1 AS next FROM orders",
            "bulk",
            "not supported: next; choose columns of tables alone",
        ),
    ],
)
def test_a_query_that_cannot_be_read_is_refused(tmp_path, query, mode, sentence):
    """SQL-12: by the check and by the task, in one sentence, without the query's own text."""
    execute(tmp_path, *SHOP)
    given = sqlite_properties(tmp_path, mode, query=query, timestamp_column_name="changed", topic_prefix="t")
    (problem,) = SqlSourceConnector().check(SqlSourceConnector.config.parse(given))
    assert sentence in str(problem)
    assert "s3cret" not in str(problem)
    with reading(given) as task, pytest.raises(ConfigError) as refused:
        task.poll()
    assert sentence in str(refused.value)


def test_the_suffix_stands_at_the_end_of_every_statement(tmp_path):
    """SQL-12: `query.suffix`, for what a database wants there; of tables, too."""
    execute(tmp_path, *SHOP)
    for more in ({"query": "SELECT id, changed FROM orders"}, {"table.whitelist": "orders"}):
        given = sqlite_properties(tmp_path, "incrementing", incrementing_column_name="id", batch_max_rows=2) | more
        with reading(given | {"query.suffix": "EVERY ROW"}) as task, pytest.raises(ConfigError, match='near "EVERY"'):
            task.poll()
        with reading(given | {"query.suffix": "-- it is a comment"}) as task:
            assert [row["id"] for row in task.poll()] == [1, 2]


def test_columns_of_a_query_have_the_types_of_the_server(database):
    """SQL-12: those of tables, expressions and casts; nothing stays in the database."""
    database.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY, n int, price numeric(9, 2), name varchar(9), "
        "changed timestamp(6))",
        "INSERT INTO orders VALUES (1, 4, 3.50, 'x', '2020-01-01 00:00:00.5')",
    )
    query = "SELECT id, n, price, name, changed, cast(n AS decimal(7, 3)) AS cost, sqrt(n) AS ratio FROM orders"
    given = {"connection.url": database.url, "mode": "incrementing", "incrementing.column.name": "id", "query": query}
    for _ in range(2):
        with reading(given) as task:
            batch = task.task.poll()
    kinds = {"id": INT64, "n": INT32, "price": decimal(2), "name": STRING, "changed": TIMESTAMP, "cost": decimal(3)}
    assert batch.value_schema == struct(
        {name: kind.as_optional() for name, kind in (kinds | {"ratio": FLOAT64}).items()}
    )
    (row,) = batch.values
    assert row == {
        "id": 1,
        "n": 4,
        "price": Decimal("3.50"),
        "name": "x",
        "changed": datetime(2020, 1, 1, 0, 0, 0, 500_000, UTC),
        "cost": Decimal("4.000"),
        "ratio": 2.0,
    }


def test_arrays_and_times_of_a_query_are_those_of_postgresql(postgresql):
    """SQL-12: by what the driver says of a result."""
    query = (
        "SELECT ARRAY[1, NULL]::int[] AS n, now()::timestamptz AS at, interval '1 day'::text AS lasts, 1::numeric AS d"
    )
    with reading({"connection.url": postgresql.url, "mode": "bulk", "query": query}) as task:
        batch = task.task.poll()
    (row,) = batch.values
    assert (row["n"], row["lasts"], row["d"]) == ([1, None], "1 day", "1")
    assert batch.value_schema.field("at") == TIMESTAMP.as_optional()
