"""Sources that several contracts are asked of, and the contract of those for which kills were seen already."""

import gzip
import sqlite3

from tests.file.samples import COLUMNS, table, text
from tests.http_api.served_api import ServedApi, served

from eosfw_file.connector import FileSourceConnector
from eosfw_http.connector import HttpSourceConnector
from eosfw_sql.connector import SqlSourceConnector
from pytest_eos.contracts import Source, SourceConnectorContract


class SourceWithoutKillsContract(SourceConnectorContract):
    """For further sources of a connector: kills and zombies at every step would find what they found with the first."""

    test_a_worker_killed_at_any_step_loses_and_repeats_nothing = None
    test_a_zombie_adds_nothing_and_takes_nothing = None


def files(kind, folder):
    """Two files of one kind, read in batches of five records."""
    form = {"gzip": "csv", "follow": "lines"}.get(kind, kind)
    for name, first in (("a", 0), ("b", 1000)):
        data = table(form, first) if form in COLUMNS else text(form, first)
        (folder / f"{name}.txt").write_bytes(gzip.compress(data) if kind == "gzip" else data)
    more = {"value.converter": "json"} if form in COLUMNS else {}
    more |= {"rotation": "follow"} if kind == "follow" else {}
    return Source(FileSourceConnector, {"file": f"{folder}/*.txt", "format": form, "batch.size": 5} | more)


ROWS = [(number, f"2020-01-01 00:00:0{number // 8}") for number in range(1, 31)]
TABLE = {"batch.max.rows": 5, "value.converter": "json", "timestamp.column.name": "changed"}
QUERY = {"query": "SELECT id, changed FROM orders WHERE id > 0", "incrementing.column.name": "id"}
MODES = {"incrementing": {}, "timestamp": {}, "timestamp+incrementing": QUERY}


def orders(mode, folder):
    """A table of orders, read in this mode."""
    with sqlite3.connect(folder / "db") as session:
        session.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)")
        session.executemany("INSERT INTO orders VALUES (?, ?)", ROWS)
    session.close()
    given = {"connection.url": f"sqlite:///{folder}/db", "mode": mode, "topic.prefix": "sql-orders"}
    return Source(SqlSourceConnector, given | TABLE | MODES[mode])


SINCE = {"incremental.path": "changed", "incremental.parameter": "since"}
API = {"records.path": "data.rows", "cursor.path": "next", "page.size": 4, "value.converter": "json"}


def api_rows(paging):
    """A served API whose rows come in pages."""
    given = {"paging": "page", **SINCE} if paging == "since" else {"paging": paging}
    with served(ServedApi([{"id": one, "changed": one // 6} for one in range(22)])) as api:
        yield Source(HttpSourceConnector, {"url": api.url, **given, **API})
