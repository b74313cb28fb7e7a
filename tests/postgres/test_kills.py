"""Workers and databases that are killed under load: the table that the topic makes is the table."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading

import psycopg
import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from pytest_eos.contracts.backends.harness import COMMITTED, BackendHarness

from .replica import replica

EOSFW = (sys.executable, "-c", "from eosfw.cli.entry import main; main()")
TOPIC = "pg.public.orders"
PIPELINE = """
[cluster]
backend = "memory"
"bootstrap.servers" = "{servers}"

[worker]
"group.id" = "kills"
"key.converter" = "json"
"key.converter.schemas.enable" = false
"value.converter" = "json"
"value.converter.schemas.enable" = false
"header.converter" = "simple"

[connectors.pg]
"connector.class" = "postgres"
"database.hostname" = "{host}"
"database.dbname" = "postgres"
"topic.prefix" = "pg"
"table.include.list" = "public[.]orders"
"max.batch.size" = 50
"poll.interval.ms" = 20
"eosfw.identity" = "none"
"""
STATEMENTS = (
    "INSERT INTO orders VALUES (%(one)s, 1) ON CONFLICT (id) DO UPDATE SET n = orders.n + 1",
    "UPDATE orders SET n = n + 1 WHERE id BETWEEN %(one)s AND %(one)s + 20",
    "DELETE FROM orders WHERE id BETWEEN %(one)s AND %(one)s + 3",
    "UPDATE orders SET id = %(other)s WHERE id = %(one)s AND NOT EXISTS (SELECT FROM orders WHERE id = %(other)s)",
)


class Workload:
    """Changes the table at random until it is stopped, also beyond restarts of the database."""

    def __init__(self, server, seed):
        self._server, self._rng, self._stopped = server, random.Random(seed), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._stopped.is_set():
            try:
                with self._server.connect() as session:
                    while not self._stopped.is_set():
                        with session.transaction():
                            for _ in range(self._rng.randrange(1, 4)):
                                one, other = self._rng.randrange(1000), self._rng.randrange(1000)
                                session.execute(self._rng.choice(STATEMENTS), {"one": one, "other": other})
            except psycopg.Error:
                self._stopped.wait(0.05)

    def stop(self):
        self._stopped.set()
        self._thread.join()


@pytest.fixture
def broker():
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    lab = BackendHarness(
        MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime()), ThreadRuntime()
    )
    lab.admin.create_topics([NewTopic(TOPIC, 1)])
    yield cluster, lab
    lab.close()
    cluster.close()


def worker(file, *options):
    with file.with_suffix(".txt").open("a") as said:
        return subprocess.Popen([*EOSFW, "run", "--quiet", *options, str(file)], stderr=said)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rounds", [3, pytest.param(100, marks=pytest.mark.nightly)])
def test_killed_workers_and_databases_lose_and_repeat_nothing(postgres_server, session, broker, tmp_path, rounds):
    """PGC-20: row by row, from the snapshot on; the replica complains about each record that does not fit."""
    cluster, lab = broker
    rng = random.Random(rounds)
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, n int)")
    session.execute("INSERT INTO orders SELECT g, 0 FROM generate_series(0, 999, 2) AS g")
    session.close()
    file = tmp_path / "kills.toml"
    file.write_text(PIPELINE.format(servers=cluster.bootstrap_servers, host=postgres_server.host))
    workload, running = Workload(postgres_server, rounds), worker(file, "--follow")
    try:
        for number in range(rounds):
            goal = lab.end(TOPIC, COMMITTED) + rng.randrange(1, 400)
            lab.until(
                lambda running=running: (
                    lab.end(TOPIC, COMMITTED),
                    running.poll(),
                    file.with_suffix(".txt").read_text()[-2000:],
                ),
                lambda seen, goal=goal: seen[0] >= goal,
            )
            if number % 2:
                postgres_server.kill()
                postgres_server.start()
            else:
                running.send_signal(signal.SIGKILL)
                running.wait()
                running = worker(file, "--follow")
    finally:
        workload.stop()
        running.kill()
        running.wait()
    assert worker(file).wait() == 0, file.with_suffix(".txt").read_text()

    records = [
        (TOPIC, json.loads(row.key), None if row.value is None else json.loads(row.value)) for row in lab.rows(TOPIC)
    ]
    with postgres_server.connect() as again:
        rows = {(one,): {"id": one, "n": n} for one, n in again.execute("SELECT id, n FROM orders")}
    assert replica(records) == rows
