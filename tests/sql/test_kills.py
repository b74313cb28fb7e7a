"""Workers, databases and brokers that are killed under load: the topics have what the tables have, once."""

from __future__ import annotations

import json
import random
from contextlib import closing

import psycopg
import pytest

from kills import EmbeddedBroker, Load, kill_at_random, worker_under_load

TOPICS = ("t-numbered", "t-changed")
PIPELINE = """
[cluster]
backend = "memory"
"bootstrap.servers" = "{servers}"

[worker]
"group.id" = "kills"
"value.converter" = "json"
"value.converter.schemas.enable" = false

[connectors.numbered]
"connector.class" = "sql"
"connection.url" = "{url}"
mode = "incrementing"
"topic.prefix" = "t-"
"table.whitelist" = "numbered"
"poll.interval.ms" = 20
"batch.max.rows" = 50
"eosfw.identity" = "none"

[connectors.changed]
"connector.class" = "sql"
"connection.url" = "{url}"
mode = "timestamp+incrementing"
"timestamp.column.name" = "at"
"topic.prefix" = "t-"
"table.whitelist" = "changed"
"poll.interval.ms" = 20
"batch.max.rows" = 50
"eosfw.identity" = "none"
"""
TABLES = (
    "CREATE TABLE numbered (id bigserial PRIMARY KEY, n int)",
    "CREATE TABLE changed (id bigserial PRIMARY KEY, n int, at timestamptz NOT NULL DEFAULT clock_timestamp())",
    "CREATE INDEX ON changed (at, id)",
)


class Changes:
    """Inserts and updates, one transaction after the other: so they commit in the order of numbers and timestamps."""

    def __init__(self, server, seed):
        self._server, self._rng = server, random.Random(seed)

    def __call__(self):
        with self._server.connect() as session:
            for _ in range(5):
                count, one = self._rng.randrange(1, 30), self._rng.randrange(1000)
                with session.transaction():
                    session.execute("INSERT INTO numbered (n) SELECT n FROM generate_series(1, %s) n", (count,))
                    session.execute("INSERT INTO changed (n) SELECT 0 FROM generate_series(1, %s)", (count,))
                    session.execute(
                        "UPDATE changed SET n = n + 1, at = clock_timestamp() WHERE id BETWEEN %s AND %s",
                        (one, one + 20),
                    )


@pytest.fixture
def broker(tmp_path):
    with closing(EmbeddedBroker(tmp_path, TOPICS)) as one:
        yield one


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rounds", [pytest.param(3, marks=pytest.mark.ci), pytest.param(100, marks=pytest.mark.nightly)]
)
def test_killed_workers_databases_and_brokers_lose_and_repeat_nothing(
    postgres_server, session, broker, tmp_path, rounds
):
    """SQL-16: of numbers each row in order; of timestamps each row's states in order, up to its last one."""
    rng = random.Random(rounds)
    for statement in TABLES:
        session.execute(statement)
    session.close()
    file = tmp_path / "kills.toml"
    url = f"postgresql+psycopg://postgres@/postgres?host={postgres_server.host}"
    file.write_text(PIPELINE.format(servers=broker.servers, url=url))
    with worker_under_load(file, Load(Changes(postgres_server, rounds), psycopg.Error)) as running:
        kill_at_random([postgres_server, broker, running], rounds, rng, lambda: broker.committed(*TOPICS), running)

    with postgres_server.connect() as again:
        numbered = again.execute("SELECT id, n FROM numbered ORDER BY id").fetchall()
        changed = dict(again.execute("SELECT id, n FROM changed").fetchall())
    assert [(row["id"], row["n"]) for row in rows_of(broker, "t-numbered")] == numbered
    states = {}
    for row in rows_of(broker, "t-changed"):
        # A poll gives the state of its time, so some updates are never seen; what is seen is newer each time.
        assert row["n"] > states.get(row["id"], -1)
        states[row["id"]] = row["n"]
    assert states == changed
    assert sum(changed.values()) > 0


def rows_of(broker, topic):
    """The committed values of a topic, in their order."""
    return [json.loads(row.value) for row in broker.harness.rows(topic)]
