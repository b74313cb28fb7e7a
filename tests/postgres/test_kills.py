"""Workers, databases and brokers that are killed under load: the table that the topic makes is the table."""

from __future__ import annotations

import json
import random
from contextlib import closing
from typing import Any, NamedTuple

import psycopg
import pytest

from eosfw_postgres.replication.slot import parse_lsn
from kills import WORKER_GROUP, EmbeddedBroker, Load, await_growth, kill_at_random, worker_under_load

from .replica import Replica, table_rows

TOPIC, PARTITIONS = "pg.public.orders", 3
PIPELINE = (
    WORKER_GROUP
    + """\
"header.converter" = "simple"

[connectors.pg]
"connector.class" = "postgres"
"database.hostname" = "{host}"
"database.dbname" = "postgres"
"topic.prefix" = "pg"
"table.include.list" = "public[.]orders"
"max.batch.size" = 50
"poll.interval.ms" = 20
"signal.data.collection" = "public.signals"
"incremental.snapshot.chunk.size" = 50
"eosfw.identity" = "none"
"""
)
STATEMENTS = (
    "INSERT INTO orders VALUES (%(one)s, 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1",
    "UPDATE orders SET n = n + 1 WHERE id BETWEEN %(one)s AND %(one)s + 20",
    "DELETE FROM orders WHERE id BETWEEN %(one)s AND %(one)s + 3",
    "UPDATE orders SET id = %(other)s WHERE id = %(one)s AND NOT EXISTS (SELECT FROM orders WHERE id = %(other)s)",
)


SIGNAL = """INSERT INTO signals (type, data) VALUES ('execute-snapshot', '{"data-collections": ["public.orders"]}')"""


class Sample(NamedTuple):
    """The table at a moment, and where the server's log ended then."""

    lsn: int
    rows: dict[Any, Any]


class Changes:
    """Transactions at random; once `sampling` is set, samples of the table and signals to read it anew between them."""

    def __init__(self, server, seed):
        self._server, self._rng = server, random.Random(seed)
        self.sampling, self.samples = False, []

    def __call__(self):
        with self._server.connect() as session:
            session.execute("SET deadlock_timeout = '10ms'")
            for _ in range(10):
                with session.transaction():
                    for _ in range(self._rng.randrange(1, 4)):
                        one, other = self._rng.randrange(1000), self._rng.randrange(1000)
                        session.execute(self._rng.choice(STATEMENTS), {"one": one, "other": other})
            if self.sampling:
                self.samples.append(sample(session))
                if self._rng.random() < 0.05:
                    session.execute(SIGNAL)


def sample(session):
    """A sample whose transactions are those before its LSN: nobody writes meanwhile."""
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.execute("LOCK TABLE orders IN SHARE MODE")
    (lsn,) = session.execute("SELECT pg_current_wal_lsn()::text").fetchone()
    rows = table_rows(session, "orders")
    session.execute("COMMIT")
    return Sample(parse_lsn(lsn), rows)


@pytest.fixture
def broker(tmp_path):
    with closing(EmbeddedBroker(tmp_path, [TOPIC], PARTITIONS)) as one:
        yield one


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rounds", [pytest.param(6, marks=pytest.mark.ci), pytest.param(100, marks=pytest.mark.nightly)]
)
def test_killed_workers_databases_and_brokers_lose_and_repeat_nothing(
    postgres_server, session, broker, tmp_path, rounds
):
    """PGC-20, PGC-44: from the snapshot on; the table is the replica at each moment at which it was looked at."""
    rng = random.Random(rounds)
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, n int)")
    session.execute("CREATE TABLE signals (id serial PRIMARY KEY, type text, data text)")
    session.execute("INSERT INTO orders SELECT g, 0 FROM generate_series(0, 999, 2) AS g")
    session.close()
    file = tmp_path / "kills.toml"
    file.write_text(PIPELINE.format(servers=broker.servers, host=postgres_server.host))
    changes = [Changes(postgres_server, seed) for seed in range(2)]
    victims = [postgres_server, broker]
    with worker_under_load(file, *(Load(one, psycopg.Error) for one in changes)) as running:
        kill_at_random([*victims, running], rounds // 3, rng, lambda: broker.committed(TOPIC), running)
        while not any(value["op"] != "r" for _, value in committed(broker) if value):
            await_growth(lambda: broker.committed(TOPIC), 1, running)
        for one in changes:  # what was committed before a row of the snapshot was read is in no sample
            one.sampling = True
        kill_at_random([*victims, running], rounds - rounds // 3, rng, lambda: broker.committed(TOPIC), running)

    with postgres_server.connect() as again:
        last = sample(again)
    samples = sorted([*changes[0].samples, *changes[1].samples, last])
    records = committed(broker)
    assert len(samples) > 1
    assert_as_sampled(records, samples)
    if rounds > 50:
        assert any(value["source"]["snapshot"] == "incremental" for _, value in records if value)


def committed(broker):
    """The records of the topic, each key's in their order."""
    rows = broker.harness.rows(TOPIC)
    return [(json.loads(row.key), None if row.value is None else json.loads(row.value)) for row in rows]


def assert_as_sampled(records, samples):
    """What was committed before each sample makes its table; each change of a key comes once, in their order."""
    latest, placed = {}, []
    for key, value in records:
        one = key["id"]
        if value is not None and value["op"] == "r":
            assert value["source"]["snapshot"] == "incremental" or one not in latest, f"{key} was read twice"
            latest.setdefault(one, (0, 0))
        elif value is not None:
            place = sequence(value)
            assert place > latest.get(one, (0, 0)), f"{value['op']} of {key} is not behind the one before"
            latest[one] = place
        placed.append((latest[one], key, value))
    placed.sort(key=lambda one: one[0])  # keys are independent of each other
    made, next_one = Replica(), 0
    for lsn, rows in samples:
        while next_one < len(placed) and placed[next_one][0][0] < lsn:
            apply(made, *placed[next_one][1:])
            next_one += 1
        assert made.rows == rows, f"the table at LSN {lsn}"
    assert next_one == len(placed)


def apply(made, key, value):
    """Take a record; each update has made n larger by 1, and a row that is read anew is as it was."""
    before = made.rows.get((key["id"],))
    if value is not None and value["op"] == "r" and value["source"]["snapshot"] == "incremental":
        assert before == value["after"], f"the row {key} that was read is another one"
        return
    made.apply(key, value)
    if value is not None and value["op"] == "u":
        assert value["after"]["n"] == before["n"] + 1, f"an update of {key} is missing"


def sequence(value):
    """The LSNs of the commit and of the change."""
    commit, change = json.loads(value["source"]["sequence"])
    return int(commit), int(change)
