"""The modes on a PostgreSQL, which is restarted in the middle of each."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest

from eosfw.errors import ConfigError, RetriableError

from .reading import reading

MODES = ("bulk", "incrementing", "timestamp", "timestamp+incrementing")


@pytest.fixture
def properties(postgres_server):
    return {
        "connection.url": f"postgresql+psycopg://postgres@/postgres?host={postgres_server.host}",
        "table.whitelist": "orders",
        "timestamp.column.name": "changed",
        "batch.max.rows": 2,
    }


@pytest.mark.parametrize(("mode", "kind"), list(zip(MODES, ("timestamptz", "timestamp") * 2, strict=True)))
def test_a_restart_of_the_database_is_seen_and_loses_nothing(postgres_server, properties, mode, kind):
    """SQL-08: a poll says that the database does not answer; once it does, rows follow those before."""
    with postgres_server.connect() as session:
        session.execute(f"CREATE TABLE orders (id int PRIMARY KEY, changed {kind} NOT NULL)")
        session.execute("INSERT INTO orders SELECT n, '2020-01-01 00:00:00.123456' FROM generate_series(1, 5) n")
    with reading(properties | {"mode": mode}) as task:
        first = [row["id"] for row in task.poll()]
        assert first == ([1, 2, 3, 4, 5] if mode == "bulk" else [1, 2])
        postgres_server.kill()
        task.now += 3600
        try:
            with pytest.raises(RetriableError, match="does not answer"):
                task.poll()
            assert not task.task.at_end()
        finally:
            postgres_server.start()
        task.now += 3600
        due = [1, 2, 3, 4, 5] if mode == "bulk" else [3, 4, 5]
        found = []
        while rows := task.poll():
            found += [row["id"] for row in rows]
        assert found == due


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


def test_a_column_of_a_type_without_schema_is_refused(session, properties):
    """SQL-07: with its name."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, lasts interval)")
    with (
        reading(properties | {"mode": "bulk"}) as task,
        pytest.raises(ConfigError, match="not supported: lasts; leave"),
    ):
        task.poll()
