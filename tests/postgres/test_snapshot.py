"""Rows and changes fit together without a gap, whenever the snapshot is interrupted."""

from __future__ import annotations

import random
import tracemalloc
from threading import Thread
from time import sleep

import pytest

from eosfw.errors import ConfigError, DamagedDataError, RetriableError
from eosfw_postgres import copy_text
from eosfw_postgres.replication import changes

from .reading import reading
from .replica import replica, table_rows
from .workloads import change_rows


@pytest.fixture
def properties(postgres_server):
    return postgres_server.properties | {"poll.interval.ms": 20, "max.batch.size": 3}


def numbered(session, table, last):
    """A table of the numbers from 1 on."""
    session.execute(f"CREATE TABLE {table} (id int PRIMARY KEY)")
    session.execute(f"INSERT INTO {table} SELECT generate_series(1, {last})")


def numbers(records):
    """The table and the number of each record."""
    return [(topic.removeprefix("pg.public."), key["id"]) for topic, key, _ in records]


ITEMS = [("items", number) for number in range(1, 6)]
"""What `numbers` gives of the table `items` with five."""


def test_rows_come_before_changes(properties, session):
    """PGC-10: each row once, then what happens to it."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    session.execute("INSERT INTO orders SELECT g, 'it''s' || chr(9) || E'\\\\' || g FROM generate_series(1, 10) AS g")
    session.execute("INSERT INTO orders VALUES (11, NULL)")
    session.execute("CREATE TABLE nothing (id int PRIMARY KEY)")
    with reading(properties) as task:
        task.until(5)
        session.execute("UPDATE orders SET note = 'changed' WHERE id = 9")
        session.execute("DELETE FROM orders WHERE id = 1")
        records = task.until_drained()

    operations = [value["op"] for _, _, value in records if value]
    assert operations == ["r"] * 11 + ["u", "d"]
    assert records[0][2]["after"]["note"] == "it's\t\\1"
    assert replica(records) == table_rows(session, "orders")


def test_rows_alone_are_read_where_that_is_asked_for(properties, session):
    """PGC-10: snapshot.mode=initial_only."""
    numbered(session, "orders", 1)
    with reading(properties | {"snapshot.mode": "initial_only"}) as task:
        task.until(1)
        session.execute("INSERT INTO orders VALUES (2)")
        assert len(task.until_drained()) == 1


KINDS = {
    "int": "n * 7 % 41 - 20",
    "text": "chr(64 + n * 7 % 41) || 'é' || n",
    "uuid": "md5(n::text)::uuid",
    "numeric(6,2)": "n / 3.0 - 5",
    "char(5)": "'x' || n",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
@pytest.mark.parametrize("seed", range(3))
def test_an_interrupted_snapshot_loses_and_repeats_nothing(monkeypatch, properties, session, kind, identity, seed):
    """PGC-11, PGC-70: with changes between and during the attempts no row comes twice, and no change that a row has;
    in arrays, too.
    """
    for module in (changes, copy_text):
        monkeypatch.setattr(module, "are_enough_for_arrays", lambda _: seed == 1)
    rng = random.Random(f"{kind} {identity} {seed}")
    session.execute(f"CREATE TABLE orders (id {kind} PRIMARY KEY, note text)")
    session.execute(f"ALTER TABLE orders REPLICA IDENTITY {identity}")
    session.execute(f"CREATE TABLE keys AS SELECT n, ({KINDS[kind]})::{kind} AS k FROM generate_series(1, 40) AS n")
    session.execute("INSERT INTO orders SELECT k, 'old' FROM keys WHERE n % 2 = 0")
    properties |= {"table.include.list": "public[.]orders"}
    records, offset = [], None
    for _ in range(4):
        with reading(properties, offset) as task:
            for _ in range(rng.randrange(1, 4)):
                task.poll()
                change_rows(session, rng)
            records += task.records
            offset = task.offset
        change_rows(session, rng)
    with reading(properties, offset) as task:
        records += task.until_drained()

    assert replica(records) == table_rows(session, "orders")


@pytest.mark.parametrize("change", ["DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (note)", "ALTER COLUMN id TYPE text"])
def test_another_key_behind_an_interrupted_snapshot_is_refused(properties, session, change):
    """PGC-11: rows would come twice, or be left out."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text NOT NULL)")
    session.execute("INSERT INTO orders SELECT g, 'note ' || g FROM generate_series(1, 10) AS g")
    with reading(properties) as task:
        task.until(3)
    session.execute(f"ALTER TABLE orders {change}")
    with (
        reading(properties, task.offset) as task,
        pytest.raises(DamagedDataError, match=r"the key of table public\.orders was changed while its snapshot was"),
    ):
        task.until_drained()


@pytest.mark.parametrize("identity", ["DEFAULT", "NOTHING"])
def test_new_rows_come_beside_those_that_were_read_whatever_the_stream_calls_the_key(properties, session, identity):
    """PGC-11: it knows none of a table with REPLICA IDENTITY NOTHING."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text NOT NULL)")
    session.execute(f"ALTER TABLE orders REPLICA IDENTITY {identity}")
    session.execute("INSERT INTO orders SELECT g, 'note ' || g FROM generate_series(1, 10, 2) AS g")
    with reading(properties) as task:
        task.until(3)
    session.execute("INSERT INTO orders VALUES (2, 'before'), (8, 'before')")
    with reading(properties, task.offset) as again:
        again.until(2)
        session.execute("INSERT INTO orders VALUES (4, 'after'), (12, 'after')")
        records = again.until_drained()
    assert sorted(value["after"]["id"] for _, _, value in task.records + records) == [1, 2, 3, 4, 5, 7, 8, 9, 12]


def test_a_table_that_is_rewritten_before_its_turn_is_read_whole(properties, session):
    """PGC-11: to a snapshot that is older it looks empty, and the stream says nothing of its rows."""
    numbered(session, "items", 5)
    numbered(session, "orders", 5)
    with reading(properties) as task:
        task.until(3)
        session.execute("ALTER TABLE orders ALTER COLUMN id TYPE bigint")
        with pytest.raises(
            RetriableError, match=r"table public\.orders was rewritten while tables before it were read"
        ):
            task.until_drained()
        records = task.until_drained()

    assert numbers(records) == [*ITEMS, *(("orders", number) for number in range(1, 6))]


@pytest.mark.parametrize(
    ("change", "rest"),
    [("DROP TABLE orders", []), ("ALTER TABLE orders RENAME TO purchases", [("purchases", 1)])],
)
def test_a_table_that_is_gone_before_its_turn_fails_no_task(properties, session, change, rest):
    """PGC-11: the tables of the database are looked up anew."""
    numbered(session, "items", 5)
    numbered(session, "orders", 1)
    with reading(properties) as task:
        task.until(3)
        session.execute(change)
        with pytest.raises(RetriableError, match=r"public\.orders was renamed or dropped"):
            task.until_drained()
        records = task.until_drained()

    assert numbers(records) == [*ITEMS, *rest]


def test_a_table_that_is_locked_is_reported_and_asked_for_again(properties, session, postgres_server):
    """PGC-10: a task that waits for it could not be stopped."""
    numbered(session, "items", 5)
    numbered(session, "orders", 1)
    with reading(properties) as task, postgres_server.connect() as other:
        task.until(5)
        other.execute("SET idle_in_transaction_session_timeout = '60s'")  # else a failure would wait for ever
        with other.transaction():
            other.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
            for _ in range(4):
                with pytest.raises(RetriableError, match="lock"):
                    task.until_drained()
        task.until_drained()

    assert numbers(task.records) == [*ITEMS, ("orders", 1)]


def test_a_change_of_a_table_waits_for_its_snapshot_and_keeps_nobody_waiting(properties, session, postgres_server):
    """PGC-10: who asks the catalog for defaults takes a lock, which stands behind that of the change."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text DEFAULT 'none')")
    session.execute("INSERT INTO orders SELECT generate_series(1, 12)")
    with reading(properties) as task, postgres_server.connect() as other:
        task.until(3)
        other.execute("SET lock_timeout = '30s'")  # else a failure of this test would wait for ever, too
        change = Thread(target=other.execute, args=("ALTER TABLE orders ADD COLUMN more int",), daemon=True)
        change.start()
        while session.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is None:
            assert change.is_alive()
        rows = Thread(target=task.until, args=(12,), daemon=True)
        rows.start()
        rows.join(20)
        came_in_time = not rows.is_alive()
        rows.join()
        task.until_drained()
        change.join()
    assert came_in_time
    assert [key["id"] for _, key, _ in task.records] == list(range(1, 13))


@pytest.fixture
def impatient(session):
    """A database that ends statements and transactions soon."""
    newer = session.info.server_version >= 170000
    names = ("statement_timeout", "idle_in_transaction_session_timeout", *(["transaction_timeout"] if newer else []))
    for name in names:
        session.execute(f"ALTER DATABASE postgres SET {name} = '300ms'")
    yield
    session.execute("ALTER DATABASE postgres RESET ALL")


@pytest.mark.usefixtures("impatient")
def test_a_snapshot_lasts_longer_than_statements_of_others_may(properties, session):
    """PGC-10: else that of a large table would begin anew for ever; one without a key would be refused."""
    for table in ("items", "orders"):
        session.execute(
            f"CREATE TABLE {table} AS SELECT g AS id, repeat('x', 1000000) AS x FROM generate_series(1, 20) AS g"
        )
    with reading(properties) as task:
        while len(task.records) < 40:
            task.poll()
            sleep(0.1)
    assert [value["after"]["id"] for _, _, value in task.records] == [*range(1, 21)] * 2


def test_many_tables_take_little_memory(properties, session):
    """PGC-10: a database may have a thousand for each of its users; they share what the catalog says of types."""
    for number in range(60):
        session.execute(f"CREATE TABLE orders{number} (id int PRIMARY KEY, note text)")
        session.execute(f"INSERT INTO orders{number} VALUES (1)")
    with reading(properties) as task:
        task.until(10)
        tracemalloc.start()
        try:
            task.until_drained()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert len(task.records) == 60
    assert kept < 1_000_000


def test_a_table_without_a_key_is_read_in_one_go_or_refused(properties, session):
    """PGC-12: nothing says which of its rows are in Kafka."""
    session.execute("CREATE TABLE orders (note text)")
    session.execute("INSERT INTO orders SELECT 'same' FROM generate_series(1, 10)")
    with reading(properties) as task:
        assert len(task.until_drained()) == 10
    with reading(properties) as task:
        task.poll()
        offset = task.offset
    with reading(properties, offset) as task, pytest.raises(ConfigError, match="give it a primary key, or exclude it"):
        task.poll()


PUBLISHED = "CREATE PUBLICATION dbz_publication FOR TABLE orders (id, note) WHERE (id > 5 AND id <> 7)"


def test_a_snapshot_has_the_columns_and_rows_that_are_published(properties, session):
    """PGC-48: as the stream has, also rows that are read again."""
    if session.info.server_version < 150000:
        return  # which has no such publications
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, secret text, note text, twice int)")
    session.execute("INSERT INTO orders SELECT g, 'secret', 'old', 2 * g FROM generate_series(1, 10) AS g")
    session.execute("CREATE TABLE signals (id int PRIMARY KEY, type text, data text)")
    session.execute(f"{PUBLISHED}, signals")
    properties |= {"signal.data.collection": "public.signals", "table.include.list": "public[.]orders"}
    with reading(properties) as task:
        task.until_drained()
        session.execute("UPDATE orders SET note = 'new' WHERE id = 6")
        session.execute("INSERT INTO orders VALUES (1000, 'secret', 'new', 0), (-1, 'secret', 'new', 0)")
        signal = """{"data-collections": ["public.orders"]}"""
        session.execute("INSERT INTO signals VALUES (1, 'execute-snapshot', %s)", [signal])
        records = task.until_drained()
    rows = [value["after"] for _, _, value in records]
    assert {tuple(row) for row in rows} == {("id", "note")}
    assert [row["id"] for row in rows] == [6, 8, 9, 10, 6, 1000, 6, 8, 9, 10, 1000]


def test_a_snapshot_has_generated_columns_that_are_published(properties, session):
    """PGC-48: from version 18 on."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (2 * id) STORED)")
    session.execute("INSERT INTO orders VALUES (1)")
    is_told = session.info.server_version >= 180000
    options = "WITH (publish_generated_columns = stored)" if is_told else ""
    session.execute(f"CREATE PUBLICATION dbz_publication FOR TABLE orders {options}")
    with reading(properties) as task:
        task.until(1)
        session.execute("INSERT INTO orders VALUES (2)")
        records = task.until(2)
    rows = [{"id": one, "twice": 2 * one} if is_told else {"id": one} for one in (1, 2)]
    assert [value["after"] for _, _, value in records] == rows


def test_a_snapshot_waits_for_what_was_running_before_its_slot(properties, session, postgres_server):
    """PGC-11: such a transaction may be visible to nobody yet, and before the slot's beginning all the same."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    session.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
    session.execute("SELECT pg_create_logical_replication_slot('debezium', 'pgoutput')")
    with reading(properties) as task, postgres_server.connect() as other:
        with other.transaction():
            other.execute("INSERT INTO orders VALUES (1)")
            with pytest.raises(RetriableError, match="waits for transaction"):
                task.poll()
        assert len(task.until_drained()) == 1


@pytest.fixture
def transaction(postgres_server):
    """One that is open, and ends itself where a failure would wait for it for ever."""
    with postgres_server.connect() as other:
        other.execute("SET idle_in_transaction_session_timeout = '60s'")
        with other.transaction():
            other.execute("SELECT pg_current_xact_id()")
            yield other.execute


def test_a_slot_that_waits_for_a_transaction_is_reported_and_asked_for_again(properties, session, transaction):
    """PGC-11: the server makes it once the transactions that run have ended; a task that waits cannot be stopped."""
    numbered(session, "orders", 1)
    with reading(properties) as task:
        for _ in range(2):
            with pytest.raises(RetriableError, match="'debezium' is made once the transactions"):
                task.poll()
        transaction("COMMIT")
        session.execute("INSERT INTO orders VALUES (2)")
        assert len(task.until_drained()) == 2


def test_a_task_that_stops_gives_up_the_slot_that_it_makes(properties, session, transaction):
    """PGC-11: else it would be there for as long as the transaction is, and nobody would read it."""
    with reading(properties) as task, pytest.raises(RetriableError):
        task.poll()
    while session.execute("SELECT FROM pg_replication_slots").fetchone() is not None:
        pass


def test_a_task_makes_the_slot_anew_that_an_older_one_was_about_to_make(properties, session, transaction):
    """PGC-05: a snapshot without a slot would have to be read again as a whole."""
    numbered(session, "orders", 1)
    with reading(properties) as old, reading(properties) as new:
        for task in (old, new):
            with pytest.raises(RetriableError, match="is made once"):
                task.poll()
        with pytest.raises(RetriableError):
            old.poll()
        with pytest.raises(RetriableError, match="stop that reader"):
            old.poll()
        transaction("COMMIT")
        new.until(1)
        assert new.offset["lsn"]
        session.execute("INSERT INTO orders VALUES (2)")
        assert len(new.until_drained()) == 2
