"""The connector `sql` keeps the contract of connectors, by numbers, by timestamps, by both with a query."""

import sqlite3

import pytest

from eosfw_sql.connector import SqlSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract

ROWS = [(number, f"2020-01-01 00:00:0{number // 8}") for number in range(1, 31)]
MORE = {"batch.max.rows": 5, "value.converter": "json", "timestamp.column.name": "changed"}
QUERY = {"query": "SELECT id, changed FROM orders WHERE id > 0", "incrementing.column.name": "id"}
MODES = {"incrementing": {}, "timestamp": {}, "timestamp+incrementing": QUERY}


def orders(mode, folder):
    """A table of orders, read in this mode."""
    with sqlite3.connect(folder / "db") as session:
        session.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)")
        session.executemany("INSERT INTO orders VALUES (?, ?)", ROWS)
    session.close()
    given = {"connection.url": f"sqlite:///{folder}/db", "mode": mode, "topic.prefix": "sql-orders"}
    return Source(SqlSourceConnector, given | MORE | MODES[mode])


class TestSql(SourceConnectorContract):
    """The mode whose offsets have both parts."""

    @pytest.fixture
    def source(self, tmp_path):
        """SQL-01: runs, kills and zombies neither lose nor repeat a row."""
        return orders("timestamp+incrementing", tmp_path)


class TestModes(SourceConnectorContract):
    """Each part alone; kills and zombies at every step would find what they found above."""

    test_a_worker_killed_at_any_step_loses_and_repeats_nothing = None
    test_a_zombie_adds_nothing_and_takes_nothing = None

    @pytest.fixture(params=["incrementing", "timestamp"])
    def source(self, request, tmp_path):
        return orders(request.param, tmp_path)
