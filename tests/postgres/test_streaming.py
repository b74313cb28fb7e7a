"""Changes come from the slot once, in order, and the slot keeps what is not in Kafka yet."""

from __future__ import annotations

import os
import resource
from contextlib import ExitStack
from threading import Thread
from types import SimpleNamespace

import pytest

from eosfw.errors import ConfigError, RetriableError

from .reading import reading


@pytest.fixture
def properties(postgres_server, session):
    session.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    return postgres_server.properties | {"snapshot.mode": "no_data", "poll.interval.ms": 50}


@pytest.fixture
def confirmed(session):
    """The LSN up to which the server has been told that nothing is needed."""

    def asked():
        row = session.execute("SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots").fetchone()
        return int(row[0])

    return asked


def insert(session, *numbers):
    for number in numbers:
        session.execute("INSERT INTO orders VALUES (%s, 'x')", [number])


def ids(records):
    return [value["after"]["id"] for _, _, value in records]


def test_changes_follow_the_committed_offset(properties, session):
    """PGC-02: behind a stop, without a word to the server."""
    with reading(properties) as first:
        first.until_drained()
        insert(session, 1, 2, 3)
        first.until(3)
        offset = first.offset
        insert(session, 4)
    with reading(properties, offset) as second:
        assert len(second.until(1)) == 1


def test_the_end_is_known_before_a_poll_waits_for_more(properties, session):
    """PGC-02: else each run would last `poll.interval.ms` longer, an hour here."""
    hour = {"poll.interval.ms": 3_600_000}
    with reading(properties) as first:
        first.until_drained()
        insert(session, 1, 2, 3)
        first.until(1)
        offset = first.offset
    insert(session, 4)
    with reading(properties | hour, offset) as second:
        assert ids(second.until_drained())[-1] == 4
    with reading(properties | hour | {"snapshot.mode": "initial", "slot.name": "another"}) as fresh:
        assert ids(fresh.until_drained()) == [1, 2, 3, 4]


def test_the_slot_is_confirmed_after_a_commit_alone(properties, session, confirmed):
    """PGC-03: a poll tells the server nothing."""
    with reading(properties) as task:
        task.until_drained()
        before = confirmed()
        insert(session, 1)
        task.until_drained()
        assert confirmed() == before

        task.task.commit()
        lsn = task.offset["lsn"]
    # The server has read what it was told by the time it ends the stream.
    wait_until_free(session)
    assert confirmed() == lsn > before


def test_a_commit_that_overlaps_a_poll_confirms_nothing_of_that_poll(properties, session, confirmed):
    """PGC-03: what the last poll returned is not committed yet, so the server must keep it."""
    with reading(properties, overlap=True) as task:
        task.until_drained()
        insert(session, 1)
        task.until(1)
        insert(session, 2)
        while len(task.records) < 2:
            committed = task.offset
            task.poll()

        task.task.commit()
        # The end of a connection with bytes that nobody has read would take what it was told from the server.
        task.until_drained()
    wait_until_free(session)
    assert confirmed() == committed["lsn"]
    with reading(properties, committed) as second:
        assert ids(second.until(1)) == [2]


def wait_until_free(session):
    while session.execute("SELECT active FROM pg_replication_slots").fetchone() == (True,):
        pass


def test_a_slot_that_somebody_else_has_read_is_refused(properties, session):
    """PGC-04: changes would be missing."""
    with reading(properties) as task:
        task.until_drained()
        insert(session, 1)
        offset = task.until(1) and task.offset
    insert(session, 2)
    wait_until_free(session)
    session.execute("SELECT pg_replication_slot_advance('debezium', pg_current_wal_lsn())")

    with reading(properties, offset) as task, pytest.raises(ConfigError, match="changes are missing; reset"):
        task.poll()


def test_a_slot_that_was_dropped_is_refused(properties, session):
    """PGC-04: a new one would begin behind the changes in between."""
    with reading(properties, {"lsn": 1, "n": 0, "part": 0}) as task, pytest.raises(ConfigError, match="is gone, so"):
        task.poll()


def test_a_log_that_ends_before_the_offset_is_refused(properties, session):
    """PGC-04: another server, or an old backup of it."""
    with reading(properties) as task:
        task.until_drained()
    with (
        reading(properties, {"lsn": 2**50, "n": 0, "part": 0}) as task,
        pytest.raises(ConfigError, match="was restored"),
    ):
        task.poll()


def test_a_task_shuts_out_an_older_one_of_its_connector(properties, session):
    """PGC-05: one that hangs would keep the slot for ever."""
    with reading(properties) as old, reading(properties) as new:
        old.until_drained()
        new.until_drained()
        insert(session, 1)
        assert new.until(1)
        with pytest.raises(RetriableError):
            old.poll()
        with pytest.raises(RetriableError, match="stop that reader"):
            old.poll()  # it was shut out, and shuts out nobody
        insert(session, 2)
        assert new.until(2)


@pytest.mark.parametrize("connector", ["größe", "a\\\tb", "n" * 100])
def test_a_task_shuts_out_an_older_one_whatever_its_connector_is_called(properties, session, connector):
    """PGC-05: the server shows a part of a long name, and other characters than those that are not ASCII."""
    with reading(properties, connector=connector) as old, reading(properties, connector=connector) as new:
        old.until_drained()
        new.until_drained()
        insert(session, 1)
        assert new.until(1)


def test_two_connectors_do_not_share_a_slot(properties, session):
    """PGC-05: each change would go to one of them alone."""
    with reading(properties) as one, reading(properties, connector="other") as other:
        one.until_drained()
        with pytest.raises(RetriableError, match=r"is read by 'eosfw pg'.*stop that reader, or name a slot"):
            other.poll()
        insert(session, 1)
        assert one.until(1)


def test_a_database_that_is_restarted_is_asked_again(properties, session, postgres_server):
    """PGC-06: retriable, then right behind the last change."""
    with reading(properties) as task:
        task.until_drained()
        insert(session, 1, 2)
        task.until(2)
        session.close()
        postgres_server.kill()
        with pytest.raises(RetriableError):
            task.until(3)
        with pytest.raises(RetriableError, match="does not answer"):
            task.poll()
        postgres_server.start()
        with postgres_server.connect() as again:
            insert(again, 3)
        task.until(3)


def test_an_idle_table_does_not_hold_the_log(properties, session, confirmed):
    """PGC-07: the offset moves alone, and the slot behind it."""
    session.execute("CREATE TABLE busy (id int)")
    properties |= {"table.include.list": "public[.]orders", "heartbeat.interval.ms": 1}
    with reading(properties) as task:
        task.until_drained()
        before = confirmed()
        session.execute("INSERT INTO busy SELECT generate_series(1, 100)")
        while not any(batch.source_offset["lsn"] > before for batch in task.poll()):
            pass
        task.task.commit()
        assert task.records == []
    wait_until_free(session)
    assert confirmed() > before


def test_changes_that_make_no_record_are_not_confirmed_before_the_offset_passes_them(properties, session, confirmed):
    """PGC-03: else a restart would take the slot for one that somebody else has read."""
    session.execute("CREATE TABLE busy (id int)")
    properties |= {"table.include.list": "public[.]orders", "heartbeat.interval.ms": 0}
    with reading(properties) as task:
        task.until_drained()
        with session.transaction():  # so that one poll has both
            insert(session, 1)
            session.execute("INSERT INTO busy VALUES (1)")
        session.execute("INSERT INTO busy VALUES (2)")
        task.until_drained()
        task.task.commit()
        offset = task.offset
    wait_until_free(session)
    assert confirmed() == offset["lsn"]
    insert(session, 2)
    with reading(properties, offset) as task:
        task.until(1)


@pytest.mark.parametrize("ends", [None, SimpleNamespace(commit=lambda: None)], ids=["alone", "connector"])
def test_a_poll_takes_a_few_mebibytes_however_large_rows_are(properties, session, ends):
    """PGC-02: max.batch.size rows of a megabyte each would be two gigabytes."""
    rows = "INSERT INTO orders SELECT g, repeat('x', 1000000) FROM generate_series(%s::int, %s) AS g"
    session.execute(rows, [1, 30])
    polls = []
    with reading(properties | {"snapshot.mode": "initial"}, transaction=ends) as task:
        while len(task.records) < 30:
            polls.append(sum(map(len, task.poll())))
        task.until_drained()
        session.execute(rows, [31, 60])
        while len(task.records) < 60:
            polls.append(sum(map(len, task.poll())))
    assert ids(task.records) == list(range(1, 61))
    assert max(polls) <= 9


def test_a_process_may_have_more_than_a_thousand_files_open(properties, session):
    """PGC-02: as a worker with many connectors does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as opened:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        insert(session, 1)
        with reading(properties | {"snapshot.mode": "initial"}) as task:
            task.until(1)
            task.until_drained()
            insert(session, 2)
            assert ids(task.until(2)) == [1, 2]


def test_a_locked_table_keeps_nobody_from_the_changes_of_others(properties, session, postgres_server):
    """PGC-02: such as one that ALTER TABLE rewrites; the server locks each table to list what is published."""
    session.execute("CREATE TABLE items (id int PRIMARY KEY)")
    with reading(properties | {"slot.lag.interval.ms": 1}) as task, postgres_server.connect() as other:
        task.until_drained()
        with other.transaction():
            other.execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
            session.execute("INSERT INTO items VALUES (1)")
            rows = Thread(target=task.until, args=(1,), daemon=True)
            rows.start()
            rows.join(20)
            came_in_time = not rows.is_alive()
        rows.join()
    assert came_in_time
