"""Tables are read anew while their changes go on, and no row is older than a change that came before it."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import ConfigError, DamagedDataError
from eosfw_postgres.incremental import ExecuteSnapshot, Progress, SignalError, StopSnapshot, signal_of, snapshot
from eosfw_postgres.incremental.snapshot import end_of_records

from .reading import changed, reading
from .replica import table_rows
from .workloads import change_rows

SIGNALS = "CREATE TABLE signals (id text PRIMARY KEY, type text NOT NULL, data text)"
KINDS = {
    "int": "n * 7 % 41 - 20",
    "text": "chr(64 + n * 7 % 41) || 'é' || n",
    "numeric(6,2)": "n / 3.0 - 5",
    "mood": "('m' || n % 41)::mood",
}


@pytest.fixture
def properties(postgres_server, session):
    session.execute(SIGNALS)
    return postgres_server.properties | {
        "snapshot.mode": "no_data",
        "poll.interval.ms": 20,
        "max.batch.size": 5,
        "table.include.list": "public[.](orders|other)",
        "signal.data.collection": "public.signals",
        "incremental.snapshot.chunk.size": 4,
    }


def signal(session, kind="execute-snapshot", **data):
    session.execute(
        "INSERT INTO signals VALUES (gen_random_uuid()::text, %s, %s)",
        [kind, json.dumps({"data-collections": ["public.orders"]} | data)],
    )


def ids(records):
    return [value["after"]["id"] for _, _, value in records if value is not None and value["op"] == "r"]


def test_a_signal_reads_a_table_anew(properties, session):
    """PGC-43: its rows are records `r` with the snapshot `incremental`; the signal itself is none."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    session.execute("INSERT INTO orders SELECT g, 'old' FROM generate_series(1, 10) AS g")
    with reading(properties) as task:
        task.until_drained()
        signal(session)
        records = task.until_drained()
    assert changed(records) == [("r", {"id": one, "note": "old"}) for one in range(1, 11)]
    assert {value["source"]["snapshot"] for _, _, value in records} == {"incremental"}
    assert "incremental" not in task.offset


def test_conditions_and_patterns_of_a_signal_choose_rows(properties, session):
    """PGC-43: Debezium's `additional-conditions`; a filter that is no SQL is said, and the next table read."""
    for table in ("orders", "other"):
        session.execute(f"CREATE TABLE {table} (id int PRIMARY KEY)")
        session.execute(f"INSERT INTO {table} SELECT generate_series(1, 10)")
    with reading(properties) as task:
        task.until_drained()
        condition = {"data-collection": "public.orders", "filter": "id > 3 AND id < 8"}
        signal(session, **{"data-collections": ["public[.]o.*"], "additional-conditions": [condition]})
        assert ids(task.until(14)) == [4, 5, 6, 7, *range(1, 11)]

        signal(session, **{"additional-conditions": [condition | {"filter": "nothing = 1"}]})
        signal(session, **{"data-collections": ["public.other"]})
        assert ids(task.until(24))[14:] == [*range(1, 11)]
    assert [text for _, text in task.notices] == [
        "table public.orders cannot be read with the filter of its signal: its incremental snapshot is left out"
    ]


def test_a_signal_stops_a_snapshot(properties, session):
    """PGC-43: Debezium's `stop-snapshot`."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    session.execute("INSERT INTO orders SELECT generate_series(1, 1000)")
    with reading(properties) as task:
        task.until_drained()
        signal(session)
        task.until(8)
        signal(session, "stop-snapshot")
        assert 8 <= len(task.until_drained()) < 100


class Replica(dict):
    """Rows of a table that was begun in the middle: a row that is read is the one that the changes have made."""

    def __init__(self):
        self.gone = set()

    def apply(self, records):
        for _, key, value in records:
            place = tuple(key.values())
            if value is None:
                continue
            if value["op"] == "r":
                assert self.get(place, value["after"]) == value["after"], f"{place} is older than its changes"
                assert place not in self.gone, f"{place} was deleted"
            if value["op"] == "d":
                self.pop(place, None)
                self.gone.add(place)
            else:
                self[place] = value["after"]
                self.gone.discard(place)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.ci)])
def test_rows_and_changes_make_the_table_whatever_is_interrupted(properties, session, kind, identity, seed):
    """PGC-44: a task that is stopped goes on behind the last row, and no row is older than a change before it."""
    rng = random.Random(f"{kind} {identity} {seed}")
    session.execute(f"CREATE TYPE mood AS ENUM ({','.join(repr(f'm{one}') for one in range(41))})")
    session.execute(f"CREATE TABLE orders (id {kind} PRIMARY KEY, note text)")
    session.execute(f"ALTER TABLE orders REPLICA IDENTITY {identity}")
    session.execute(f"CREATE TABLE keys AS SELECT n, ({KINDS[kind]})::{kind} AS k FROM generate_series(1, 40) AS n")
    session.execute("INSERT INTO orders SELECT k, 'old' FROM keys WHERE n % 2 = 0")
    made, offset = Replica(), None
    with reading(properties) as task:
        task.until_drained()
        signal(session)
        offset = task.offset
    for _ in range(5):
        with reading(properties, offset) as task:
            for _ in range(rng.randrange(2, 8)):
                task.poll()
                change_rows(session, rng)
            made.apply(task.records)
            offset = task.offset
    with reading(properties, offset) as task:
        made.apply(task.until_drained())

    assert made == table_rows(session, "orders")


def test_a_row_waits_for_the_changes_that_its_snapshot_shows(properties, session):
    """PGC-44: else a change would come behind the row that has it already."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    session.execute("INSERT INTO orders VALUES (1, 'old')")
    with reading(properties | {"max.batch.size": 1}) as task:
        task.until_drained()
        signal(session)
        session.execute("UPDATE orders SET note = 'one' WHERE id = 1")
        session.execute("UPDATE orders SET note = 'two' WHERE id = 1")
        records = task.until_drained()
    assert [(op, row["note"]) for op, row in changed(records)] == [("u", "one"), ("u", "two"), ("r", "two")]


def test_a_table_that_is_rewritten_behind_the_snapshot_of_its_rows_is_read_again(properties, session, monkeypatch):
    """PGC-44: to that snapshot it looks empty."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    session.execute("INSERT INTO orders VALUES (1, 'a')")
    rewrites = ["ALTER TABLE orders ALTER COLUMN id TYPE bigint"]
    moment = snapshot._moment

    def rewritten(reading):
        found = moment(reading)
        while rewrites:
            session.execute(rewrites.pop())
        return found

    monkeypatch.setattr(snapshot, "_moment", rewritten)
    with reading(properties) as task:
        task.until_drained()
        signal(session)
        assert changed(task.until_drained()) == [("r", {"id": 1, "note": "a"})]
    assert not rewrites


def test_a_row_that_was_changed_since_it_was_read_is_left_out(properties, session):
    """PGC-44: the change is newer, whatever it did."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    session.execute("INSERT INTO orders SELECT g, 'old' FROM generate_series(1, 4) AS g")
    with reading(properties | {"max.batch.size": 1}) as task:
        task.until_drained()
        signal(session)
        while not task.task._incremental.waits:  # the rows were read, and wait for the changes before them
            task.poll()
        session.execute("UPDATE orders SET note = 'new' WHERE id = 1")
        session.execute("DELETE FROM orders WHERE id = 2")
        session.execute("UPDATE orders SET id = 9 WHERE id = 3")
        records = task.until_drained()
    made = Replica()
    made.apply(records)
    assert made == table_rows(session, "orders")


def test_a_snapshot_waits_for_what_was_running_before_its_signal(properties, session, postgres_server):
    """PGC-44: such a transaction may have been returned, and be seen by nobody yet; the stream goes on meanwhile."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    with reading(properties) as task, postgres_server.connect() as other:
        task.until_drained()
        with other.transaction():
            other.execute("INSERT INTO orders VALUES (1)")
            signal(session)
            session.execute("INSERT INTO orders VALUES (2)")
            task.until(1)
            while not task.notices:
                task.poll()
            assert task.notices[0][1].startswith("an incremental snapshot waits for transaction")
        records = task.until_drained()
    assert sorted(ids(records)) == [1, 2]


def test_a_signal_table_that_is_missing_or_not_published_is_refused(properties, session):
    """PGC-45: no signal would ever come."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    session.execute("CREATE PUBLICATION dbz_publication FOR TABLE orders")
    with reading(properties) as task, pytest.raises(ConfigError, match=r"lacks public.signals, so"):
        task.poll()
    session.execute("DROP TABLE signals")
    with reading(properties) as task, pytest.raises(ConfigError, match=r"there is no table public.signals: CREATE"):
        task.poll()


def test_the_publication_that_is_made_has_the_signal_table(properties, session):
    """PGC-45: with publication.autocreate.mode=filtered."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    session.execute("INSERT INTO orders VALUES (1)")
    with reading(properties | {"publication.autocreate.mode": "filtered"}) as task:
        task.until_drained()
        signal(session)
        assert ids(task.until(1)) == [1]


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("execute-snapshot", "[1]", "no JSON object"),
        ("execute-snapshot", "{", "no JSON object"),
        ("execute-snapshot", "{}", "names no tables"),
        ("execute-snapshot", '{"data-collections": "a"}', "is no list"),
        ("execute-snapshot", '{"data-collections": ["("]}', "no regular expression"),
        ("execute-snapshot", '{"data-collections": ["a"], "type": "blocking"}', "another type"),
        ("execute-snapshot", '{"data-collections": ["a"], "surrogate-key": "b"}', "surrogate-key"),
        ("execute-snapshot", '{"data-collections": ["a"], "additional-conditions": [1]}', "`filter`"),
        ("stop-snapshot", '{"type": "blocking"}', "another type"),
    ],
)
def test_a_signal_that_cannot_be_followed_is_said(kind, data, said):
    """PGC-45: without what stands in it; the connector goes on."""
    with pytest.raises(SignalError, match=said):
        signal_of(kind, data)


def test_signals_of_other_types_ask_for_nothing():
    """PGC-45: as in Debezium, which has more of them."""
    assert signal_of("log", '{"message": "hello"}') is None
    assert isinstance(signal_of("stop-snapshot", None), StopSnapshot)
    assert isinstance(signal_of("execute-snapshot", '{"data-collections": ["a"]}'), ExecuteSnapshot)


@given(
    st.lists(st.tuples(st.text(), st.text()), min_size=1),
    st.none() | st.lists(st.text(), min_size=1),
    st.tuples(st.integers(0), st.integers(0)),
)
def test_the_progress_survives_the_offsets_topic(tables, behind, place):
    """PGC-44: it is a text in the source offset."""
    progress = Progress(tuple(tables), None if behind is None else tuple(behind), place)
    assert Progress.of(progress.text()) == progress


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"tables": [1], "behind": null, "signal": [0, 0]}'])
def test_a_progress_that_cannot_be_read_is_refused(text):
    """PGC-44."""
    with pytest.raises(DamagedDataError, match="reset its offsets"):
        Progress.of(text)


@pytest.mark.parametrize(("lsn", "end"), [(8192, 8192), (8192 + 24, 8192), (8192 + 40, 8192), (8192 + 48, 8192 + 48)])
def test_the_header_of_a_page_of_the_log_ends_no_record(lsn, end):
    """PGC-44: the server's next place may lie behind it, and an idle stream before it."""
    assert end_of_records(lsn) == end
