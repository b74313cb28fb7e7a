"""Tables that are changed or emptied while their changes are read, and values that the server leaves out."""

from __future__ import annotations

import json

import pytest

from eosfw_postgres.connector import PostgresConnector
from eosfw_postgres.replication import changes

from .reading import changed, reading

CONVERTERS = {"key.converter": "json", "value.converter": "json", "header.converter": "simple"}
PLACEHOLDER = "__debezium_unavailable_value"


@pytest.fixture(autouse=True, params=["by itself", "in arrays"])
def each(request, monkeypatch):
    """PGC-70: how a change is read."""
    monkeypatch.setattr(changes, "are_enough_for_arrays", lambda _: request.param == "in arrays")


@pytest.fixture
def properties(postgres_server, session):
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    return postgres_server.properties | {"snapshot.mode": "no_data", "poll.interval.ms": 50}


def rows(records):
    return [value["after"] for _, _, value in records]


def fields(batch):
    """Of each column whether it may be null."""
    after = next(field.schema for field in batch.value_schema.fields if field.name == "after")
    return {field.name: field.schema.optional for field in after.fields}


def sent(eos, properties):
    """Keys and values that lie in the topics, by a converter that refuses what its schema cannot say."""
    run = eos.run(PostgresConnector, properties | CONVERTERS)
    return [tuple(one and json.loads(one)["payload"] for one in (record.key, record.value)) for record in run.records()]


def test_a_truncation_is_a_record_of_each_table_that_is_read(properties, session):
    """PGC-21: where it stands among the changes; without a key, as Debezium's has none."""
    session.execute("CREATE TABLE items (id int PRIMARY KEY, o int REFERENCES orders)")
    session.execute("CREATE TABLE hidden (id int PRIMARY KEY, o int REFERENCES orders)")
    properties |= {"skipped.operations": "none", "table.exclude.list": "public.hidden"}
    with reading(properties) as task:
        task.until_drained()
        session.execute("INSERT INTO orders VALUES (1, 'x')")
        session.execute("TRUNCATE orders CASCADE")
        session.execute("INSERT INTO orders VALUES (2, 'x')")
        task.until_drained()
    assert [(topic, op) for (topic, _, _), (op, _) in zip(task.records, changed(task.records), strict=True)] in [
        [("pg.public.orders", "c"), *((f"pg.public.{one}", "t") for one in both), ("pg.public.orders", "c")]
        for both in (("orders", "items"), ("items", "orders"))
    ]
    assert [key for _, key, value in task.records if value["op"] == "t"] == [None, None]


def test_a_truncation_of_several_tables_goes_on_behind_the_last_record(properties, session):
    """PGC-21: each of its records has an offset of its own."""
    session.execute("CREATE TABLE items (id int PRIMARY KEY)")
    properties |= {"skipped.operations": "none", "flush.lsn.source": "false"}
    with reading(properties) as task:
        task.until_drained()
        start = task.offset
        session.execute("TRUNCATE orders, items")
        session.execute("INSERT INTO items VALUES (1)")
        offsets = [start]
        while len(task.records) < 3:
            offsets += [offset for batch in task.poll() for offset in batch.source_offsets or [batch.source_offset]]
    assert len(offsets) == 4
    for count, offset in enumerate(offsets):
        with reading(properties, offset) as again:
            again.until(3 - count)
            assert again.records == task.records[count:]


def test_truncations_are_left_out_by_default(properties, session):
    """PGC-21: as Debezium's `skipped.operations` says."""
    with reading(properties) as task:
        task.until_drained()
        session.execute("TRUNCATE orders")
        session.execute("INSERT INTO orders VALUES (2, 'x')")
        task.until(1)
    assert changed(task.records) == [("c", {"id": 2, "note": "x"})]


def test_columns_that_are_added_altered_dropped_and_renamed_show_from_then_on(properties, session):
    """PGC-22: each row has the columns that its table had."""
    with reading(properties) as task:
        task.until_drained()
        for number, statement in enumerate(
            (
                "SELECT",
                "ALTER TABLE orders ADD COLUMN n int",
                "ALTER TABLE orders ALTER COLUMN n TYPE text USING 'n' || n",
                "ALTER TABLE orders RENAME COLUMN note TO remark",
                "ALTER TABLE orders DROP COLUMN n",
            )
        ):
            session.execute(statement)
            session.execute("INSERT INTO orders (id) VALUES (%s)", [number])
            if "ADD" in statement:
                session.execute("UPDATE orders SET n = 5 WHERE id = 1")
            if "TYPE" in statement:
                session.execute("UPDATE orders SET note = 'y' WHERE id = 1")
        task.until(7)
    assert rows(task.records) == [
        {"id": 0, "note": None},
        {"id": 1, "note": None, "n": None},
        {"id": 1, "note": None, "n": 5},
        {"id": 2, "note": None, "n": None},
        {"id": 1, "note": "y", "n": "n5"},
        {"id": 3, "remark": None, "n": None},
        {"id": 4, "remark": None},
    ]


@pytest.mark.parametrize("behind", [False, True])
def test_a_column_that_may_be_null_from_now_on_may_be_null_in_the_schema(properties, session, behind):
    """PGC-22: the server's description of the table is the same before and after."""
    session.execute("ALTER TABLE orders ALTER COLUMN note SET NOT NULL")
    with reading(properties) as task:
        task.until_drained()
        session.execute("INSERT INTO orders VALUES (1, 'x')")
        if not behind:
            task.until(1)
        session.execute("ALTER TABLE orders ALTER COLUMN note DROP NOT NULL")
        session.execute("INSERT INTO orders VALUES (2, NULL)")
        while not (batches := task.poll()):
            pass
        while len(task.records) < 2:
            batches = task.poll() or batches
    assert fields(batches[-1]) == {"id": False, "note": True}


def test_a_null_that_is_older_than_not_null_is_shown(eos, properties, session):
    """PGC-22: the usual migration, add, fill, SET NOT NULL, while the task is behind."""
    with reading(properties) as task:
        task.until_drained()
    session.execute("INSERT INTO orders VALUES (1, NULL)")
    session.execute("UPDATE orders SET note = 'filled'")
    session.execute("ALTER TABLE orders ALTER COLUMN note SET NOT NULL")
    session.execute("INSERT INTO orders VALUES (2, 'x')")

    assert [value["after"]["note"] for _, value in sent(eos, properties)] == [None, "filled", "x"]


def test_changes_that_are_older_than_the_primary_key_have_the_key_of_their_time(eos, properties, session):
    """PGC-23: the server says which columns it was."""
    with reading(properties) as task:
        task.until_drained()
    session.execute("INSERT INTO orders VALUES (1, 'a')")
    session.execute("ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD COLUMN new_id int DEFAULT 5 PRIMARY KEY")
    session.execute("INSERT INTO orders VALUES (2, 'b', 6)")

    assert [key for key, _ in sent(eos, properties)] == [{"id": 1}, {"new_id": 6}]


def test_changes_that_are_older_than_the_drop_of_a_type_are_read(eos, properties, session):
    """PGC-22: nothing says any more what the values were, so that the column is left out."""
    session.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    session.execute("ALTER TABLE orders ADD COLUMN mood mood")
    with reading(properties) as task:
        task.until_drained()
    session.execute("INSERT INTO orders VALUES (1, 'a', 'sad')")
    session.execute("DROP TYPE mood CASCADE")

    assert [value["after"] for _, value in sent(eos, properties)] == [{"id": 1, "note": "a"}]


def test_changes_of_a_table_that_is_dropped_are_read(eos, properties, session):
    """PGC-22: by the server's description of it."""
    with reading(properties) as task:
        task.until_drained()
    session.execute("INSERT INTO orders VALUES (1, 'a')")
    session.execute("DROP TABLE orders")

    assert [(key, value["after"]) for key, value in sent(eos, properties)] == [({"id": 1}, {"id": 1, "note": "a"})]


@pytest.mark.parametrize(("identity", "note"), [("DEFAULT", PLACEHOLDER), ("FULL", "long")])
def test_a_value_stored_out_of_line_that_did_not_change_has_a_placeholder(properties, session, identity, note):
    """PGC-24: with REPLICA IDENTITY FULL the row before has it."""
    session.execute("ALTER TABLE orders ALTER COLUMN note SET STORAGE EXTERNAL, ADD COLUMN n int")
    session.execute(f"ALTER TABLE orders REPLICA IDENTITY {identity}")
    long = "x" * 10_000
    with reading(properties) as task:
        task.until_drained()
        session.execute("INSERT INTO orders VALUES (1, %s, 1)", [long])
        session.execute("UPDATE orders SET n = 2")
        session.execute("UPDATE orders SET note = note || 'y'")
        task.until(3)
    kept = long if note == "long" else note
    assert [row["note"] for row in rows(task.records)] == [long, kept, long + "y"]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_a_key_stored_out_of_line_that_did_not_change_is_the_key(properties, session, identity):
    """PGC-24: the server sends it with the row before alone, as if it had changed."""
    session.execute("CREATE TABLE pages (url text PRIMARY KEY, n int)")
    session.execute("ALTER TABLE pages ALTER COLUMN url SET STORAGE EXTERNAL")
    session.execute(f"ALTER TABLE pages REPLICA IDENTITY {identity}")
    with reading(properties) as task:
        task.until_drained()
        session.execute("INSERT INTO pages SELECT string_agg(md5(g::text), ''), 1 FROM generate_series(1, 80) AS g")
        session.execute("UPDATE pages SET n = 2")
        session.execute("DELETE FROM pages")
        task.until(4)
    (url,) = {key["url"] for _, key, _ in task.records}
    assert len(url) == 80 * 32
    assert changed(task.records[:2]) == [("c", {"url": url, "n": 1}), ("u", {"url": url, "n": 2})]


def test_a_table_that_is_renamed_to_one_that_is_not_read_is_reported(properties, session):
    """PGC-21: its changes are read no more, which nobody would see; under a name that is read they are."""
    with reading(properties | {"table.include.list": "public.orders,public.kept"}) as task:
        for name, other in (("orders", "kept"), ("kept", "old")):
            task.until_drained()
            session.execute(f"INSERT INTO {name} VALUES (1, 'x')")
            session.execute(f"ALTER TABLE {name} RENAME TO {other}")
            session.execute(f"UPDATE {other} SET id = id + 1")
            session.execute(f"DELETE FROM {other}")
        task.until_drained()
    assert {topic for topic, _, _ in task.records} == {"pg.public.orders", "pg.public.kept"}
    (said,) = (said for kind, said in task.notices if kind == "renamed tables")
    assert said.startswith("table public.kept has become public.old, which table.include.list")


def test_a_table_whose_rows_can_only_be_inserted_while_it_is_published_is_reported(properties, session):
    """PGC-21: from then on its own applications are refused, which PostgreSQL tells them alone."""
    for name, more in (("bare", ""), ("full_row", ""), ("keyed", "PRIMARY KEY")):
        session.execute(f"CREATE TABLE {name} (id int {more})")
    session.execute("ALTER TABLE full_row REPLICA IDENTITY FULL")
    with reading(properties | {"snapshot.mode": "initial"}) as task:
        task.until_drained()
        session.execute("INSERT INTO bare VALUES (1)")
        task.until_drained()
    ((kind, said),) = task.notices
    assert kind == "tables without a replica identity"
    assert said.startswith("PostgreSQL refuses to update and delete rows of table public.bare while it is published")
