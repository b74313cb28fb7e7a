"""The connector `sql` keeps the contract of connectors, by numbers and by timestamps."""

import sqlite3

import pytest

from eosfw_sql.connector import SqlSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract

ROWS = [(number, f"2020-01-01 00:00:0{number // 8}") for number in range(1, 31)]
MORE = {"batch.max.rows": 5, "value.converter": "json"}


class TestSql(SourceConnectorContract):
    @pytest.fixture(params=["incrementing", "timestamp"])
    def source(self, request, tmp_path):
        """SQL-01: runs, kills and zombies neither lose nor repeat a row."""
        session = sqlite3.connect(tmp_path / "db")
        session.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)")
        session.executemany("INSERT INTO orders VALUES (?, ?)", ROWS)
        session.commit()
        session.close()
        properties = {"connection.url": f"sqlite:///{tmp_path}/db", "mode": request.param, "topic.prefix": "sql-"}
        return Source(SqlSourceConnector, properties | {"timestamp.column.name": "changed"} | MORE)
