"""The connector `sql` keeps the contract of connectors, by numbers, by timestamps, by both with a query."""

import sqlite3

import pytest

from eosfw_sql.connector import SqlSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract

ROWS = [(number, f"2020-01-01 00:00:0{number // 8}") for number in range(1, 31)]
MORE = {"batch.max.rows": 5, "value.converter": "json", "timestamp.column.name": "changed"}
QUERY = {"query": "SELECT id, changed FROM orders WHERE id > 0", "incrementing.column.name": "id"}
MODES = {"incrementing": {}, "timestamp": {}, "timestamp+incrementing": QUERY}


class TestSql(SourceConnectorContract):
    @pytest.fixture(params=MODES)
    def source(self, request, tmp_path):
        """SQL-01: runs, kills and zombies neither lose nor repeat a row."""
        with sqlite3.connect(tmp_path / "db") as session:
            session.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)")
            session.executemany("INSERT INTO orders VALUES (?, ?)", ROWS)
        session.close()
        given = {"connection.url": f"sqlite:///{tmp_path}/db", "mode": request.param, "topic.prefix": "sql-orders"}
        return Source(SqlSourceConnector, given | MORE | MODES[request.param])
