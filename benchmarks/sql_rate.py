"""Measure the connector `sql` beside a loop by hand: rows of a PostgreSQL to Kafka, memory, many tables.

*rate*: a table of 8 columns is read by `mode=incrementing` in polls of 1,000 or 10,000 rows, as JSON with its schema,
`transaction.boundary=poll`, into the embedded broker (`eosfw broker`, client `confluent`) or a real Kafka. `raw` is a
loop over SQLAlchemy's rows, `json.dumps` and confluent-kafka's transactions, with a record for each offset. A rate is
rows over the time from the first record in the log to the last one visible; `cpu` is the least processor time of a
contender for each row, in microseconds, without that of its start. *memory*: the largest size of a task that
reads a table in mode bulk, and of SQLAlchemy's `all()`. *tables*: the processor time for each table of a SQLite.
Prints one JSON object; what each run found goes to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmark import SCALE, ContenderError, run_main, scaled, show
from connector_rate import Source, create, kafka, seconds
from contenders import started
from debezium_peer import postgres

FIRST = 1000
"""Rows by which the cost of a start is found."""
PARTS = ("rate", "memory", "tables")
COLUMNS = "id, item, customer, price, ratio, paid, day, changed"
TABLE = """
CREATE TABLE orders AS SELECT n::bigint AS id, 'item ' || n AS item, 'customer ' || n % 100 AS customer,
(n % 1000)::numeric(9, 2) AS price, n * 1.5::float8 AS ratio, n % 2 = 0 AS paid, date '2020-01-01' + n % 100 AS day,
timestamptz '2020-01-01' + n * interval '1 ms' AS changed FROM generate_series(1, {rows}) AS n;
ALTER TABLE orders ADD PRIMARY KEY (id);
ANALYZE orders
"""
LOGICAL = "org.apache.kafka.connect.data."
SCHEMA = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"type": kind, "optional": True, "field": name} | ({"name": LOGICAL + logical, "version": 1} if logical else {})
        for name, kind, logical in (
            ("id", "int64", None),
            ("item", "string", None),
            ("customer", "string", None),
            ("price", "bytes", "Decimal"),
            ("ratio", "double", None),
            ("paid", "boolean", None),
            ("day", "int32", "Date"),
            ("changed", "int64", "Timestamp"),
        )
    ],
}
RAW = """
import json, sys
import sqlalchemy as sa
from confluent_kafka import Producer
servers, url, topic, batch, schema, rows = sys.argv[1:]
given = {"transactional.id": topic, "queue.buffering.max.messages": 10_000_000}
producer = Producer({"bootstrap.servers": servers} | given)
producer.init_transactions()
ask, last = sa.text(f"SELECT * FROM orders WHERE id > :last AND id <= {rows} ORDER BY id LIMIT {batch}"), 0
names, before, behind = None, '{"schema": ' + schema + ', "payload": ', "}"
with sa.create_engine(url).connect() as session:
    while rows := session.execute(ask, {"last": last}).all():
        names = names or rows[0]._fields
        values = []
        for row in rows:
            one = dict(zip(names, row))
            one.update(price=str(row.price), day=row.day.toordinal(), changed=int(row.changed.timestamp() * 1000))
            values.append({"value": before + json.dumps(one) + behind})
        last = rows[-1].id
        producer.begin_transaction()
        producer.produce_batch(topic, values)
        producer.produce(topic + "-offsets", key=b"orders", value=b"%d" % last)
        producer.commit_transaction()
"""
MEMORY = """
import resource, sys
how, url = sys.argv[1:]
if how == "raw":
    import sqlalchemy as sa
    with sa.create_engine(url).connect() as session:
        count = len(session.execute(sa.text("SELECT * FROM orders")).all())
else:
    from types import SimpleNamespace
    from eosfw_sql.connector import SqlSourceConnector
    from eosfw_sql.task import SqlSourceTask
    config = SqlSourceConnector.config.parse(
        {"connection.url": url, "mode": "bulk", "topic.prefix": "t-", "table.whitelist": "orders"}
    )
    task, count = SqlSourceTask(), 0
    task.start(
        task.config.parse(SqlSourceConnector().task_configs(config, 1)[0]),
        SimpleNamespace(offset=lambda partition: None, record_offsets=False, notice=print),
    )
    while (batch := task.poll()) is not None:
        count += len(batch.values)
    task.stop()
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def pipeline(servers: str, url: str, topic: str, batch: int, rows: int) -> str:
    """A pipeline of one connector, whose topic is that of a query: its prefix alone."""
    properties = {
        "connector.class": "sql",
        "connection.url": url,
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "query": f"SELECT {COLUMNS} FROM orders WHERE id <= {rows}",
        "topic.prefix": topic,
        "batch.max.rows": str(batch),
        "value.converter": "json",
        "transaction.boundary": "poll",
    }
    sections = {
        "cluster": {"backend": "confluent", "bootstrap.servers": servers},
        "worker": {"group.id": topic},
        "connectors.orders": properties,
    }
    return "".join(
        f"[{section}]\n" + "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in entries.items())
        for section, entries in sections.items()
    )


class Rates:
    """Contenders in turn, on one cluster."""

    def __init__(self, cluster: str, servers: str, url: str, rows: int) -> None:
        self._cluster, self._servers, self._url, self._rows = cluster, servers, url, rows
        self.best: dict[str, float] = {}
        self._number = 0

    def measure(self, who: str, batch: int) -> None:
        """A contender's rate and processor time, kept if they are its best ones."""
        _, start = self._run(who, batch, FIRST)
        took, cpu = self._run(who, batch, self._rows)
        name = f"{self._cluster}, {who}, polls of {batch}"
        found = {
            f"{name}": round(self._rows / took),
            f"{name}, cpu": round((cpu - start) * 1e6 / (self._rows - FIRST), 1),
        }
        print(json.dumps(found), file=sys.stderr)
        for what, value in found.items():
            better = min if what.endswith("cpu") else max
            self.best[what] = better(value, self.best.get(what, value))

    def _run(self, who: str, batch: int, rows: int) -> tuple[float, float]:
        """Seconds from the first record to the last one, and the processor time from start to end."""
        self._number += 1
        topic = f"{who}-{batch}-{self._number}-{os.getpid()}"
        create(self._servers, topic)
        before = _children()
        with tempfile.TemporaryDirectory() as folder:
            command = self._raw(topic, batch, rows) if who == "raw" else self._eosfw(Path(folder), topic, batch, rows)
            with started(who, *command) as contender:
                took = seconds(Source(self._servers, Path(folder), rows), topic, contender.check)
                contender.finish(60.0)
        return took, _children() - before

    def _eosfw(self, folder: Path, topic: str, batch: int, rows: int) -> list[str]:
        path = folder / "pipeline.toml"
        path.write_text(pipeline(self._servers, self._url, topic, batch, rows))
        return [str(Path(sys.executable).with_name("eosfw")), "run", "--no-verify", "--quiet", "--json", str(path)]

    def _raw(self, topic: str, batch: int, rows: int) -> list[str]:
        create(self._servers, f"{topic}-offsets")
        schema = json.dumps(SCHEMA)
        return [sys.executable, "-c", RAW, self._servers, self._url, topic, str(batch), schema, str(rows)]


def _children() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def embedded_broker() -> Iterator[str]:
    """The embedded broker in a process of its own."""
    command = str(Path(sys.executable).with_name("eosfw"))
    with started("the embedded broker", command, "broker", "--listen", "127.0.0.1:0") as broker:
        yield broker.address()


@contextmanager
def running(cluster: str, there: str | None) -> Iterator[str]:
    """The addresses of a cluster; `there` are those of a Kafka that runs already."""
    if cluster == "kafka" and there is not None:
        yield there
        return
    with (embedded_broker if cluster == "embedded" else kafka)() as servers:
        yield servers


def memory(how: str, url: str) -> dict[str, int]:
    """Rows that were read, and the largest size of the process in MiB."""
    done = subprocess.run([sys.executable, "-c", MEMORY, how, url], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ContenderError(f"{how}: {done.stderr.strip().splitlines()[-1]}")
    rows, size = map(int, done.stdout.split())
    return {"rows": rows, "MiB": size // 1024}


def _no_offset(_partition: object) -> None:
    """Nothing was read before."""


def tables(count: int) -> dict[str, float]:
    """Milliseconds of the processor for each of so many tables of a SQLite."""
    from types import SimpleNamespace

    from eosfw_sql.connector import SqlSourceConnector
    from eosfw_sql.task import SqlSourceTask

    with tempfile.TemporaryDirectory() as folder:
        with sqlite3.connect(f"{folder}/db") as session:
            for number in range(count):
                session.execute(f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY, n INTEGER, name TEXT)")
        session.close()
        found: dict[str, float] = {}

        def spent(what: str, began: float) -> None:
            found[what] = round((time.process_time() - began) * 1000 / count, 3)

        config = SqlSourceConnector.config.parse(
            {"connection.url": f"sqlite:///{folder}/db", "mode": "incrementing", "topic.prefix": "t-"}
        )
        began = time.process_time()
        list(SqlSourceConnector().check(config))
        spent("check", began)
        began = time.process_time()
        (share,) = SqlSourceConnector().task_configs(config, 1)
        spent("split", began)
        now = [0.0]
        task = SqlSourceTask(clock=lambda: now[0])
        assert task.config is not None
        context: Any = SimpleNamespace(offset=_no_offset, record_offsets=False, notice=print)
        task.start(task.config.parse(share), context)
        for what in ("first poll", "next poll"):
            now[0] += 3600
            began = time.process_time()
            task.poll()
            spent(what, began)
        task.stop()
    return found


def main() -> None:
    """Measure the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=scaled(500_000, 3000))
    parser.add_argument("--memory-rows", type=int, default=scaled(1_000_000, 3000))
    parser.add_argument("--rounds", type=int, default=3 if SCALE == 1 else 1)
    parser.add_argument("--clusters", nargs="+", default=["embedded", "kafka"])
    parser.add_argument("--bootstrap-servers", help="a Kafka that runs already; by default one is started")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    from ports import free_port

    with ExitStack() as stack:
        if {"rate", "memory"} & {*given.parts}:
            server = stack.enter_context(postgres(port := free_port()))
            url = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
        if "rate" in given.parts:
            fill(server, given.rows)
            for cluster in given.clusters:
                with running(cluster, given.bootstrap_servers) as servers:
                    rates = Rates(cluster, servers, url, given.rows)
                    for _ in range(given.rounds):
                        for batch in (1000, 10_000):
                            for who in ("eosfw", "raw"):
                                rates.measure(who, batch)
                    found |= rates.best
        if "memory" in given.parts:
            fill(server, given.memory_rows)
            found["memory"] = {how: memory(how, url) for how in ("eosfw", "raw")}
        if "tables" in given.parts:
            found["tables"] = {count: tables(count) for count in (scaled(n, 5) for n in (100, 1000, 5000))}
    show(found)


def fill(server: Any, rows: int) -> None:
    """Make the table anew."""
    with server.connect() as session:
        session.execute("DROP TABLE IF EXISTS orders")
        for statement in TABLE.format(rows=rows).split(";"):
            session.execute(statement)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    run_main(main)
