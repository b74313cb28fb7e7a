"""A standby becomes the primary, and the connector goes on where it was."""

from __future__ import annotations

from contextlib import suppress

import pytest

from eosfw.errors import RetriableError

from .programs import OwnServer, Standby, short_folder, wheel_programs
from .reading import reading
from .server import SETTINGS

FOLLOWING = f"{SETTINGS}\nhot_standby_feedback = on\nprimary_slot_name = 'standby'\nsync_replication_slots = on\n"


@pytest.fixture
def servers():
    """A primary, and its standby."""
    with short_folder() as folder:
        primary = OwnServer(wheel_programs(), folder / "a" / "data")
        try:
            standby = Standby(wheel_programs(), folder / "b" / "data", primary, FOLLOWING)
            try:
                yield primary, standby
            finally:
                standby.stop()
        finally:
            primary.stop()


def synchronize(task, session, standby):
    """Go on until the standby has the slot at a place of its log that it has, too."""
    with standby.connect() as other:
        synced = False
        while not synced:
            session.execute("SELECT pg_log_standby_snapshot()")
            task.poll()
            task.task.commit()
            row = other.execute("SELECT synced AND NOT temporary FROM pg_replication_slots").fetchone()
            synced = row == (True,)


def until(task, count):
    """Poll beyond a server that is gone."""
    while len(task.records) < count:
        with suppress(RetriableError):
            task.poll()


@pytest.mark.ci
def test_a_connector_goes_on_at_the_standby_that_became_the_primary(servers):
    """PGC-46: nothing is lost or repeated, by a slot that the standby has, too."""
    primary, standby = servers
    properties = primary.properties | {
        "database.hostname": f"{primary.host},{standby.host}",
        "slot.failover": "true",
        "snapshot.mode": "no_data",
        "poll.interval.ms": 50,
        "heartbeat.interval.ms": 1,
    }
    with primary.connect() as session, reading(properties) as task:
        # Nobody is sent what the standby may lack.
        session.execute("ALTER SYSTEM SET synchronized_standby_slots = 'standby'")
        session.execute("SELECT pg_reload_conf()")
        session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        task.until_drained()
        session.execute("INSERT INTO orders VALUES (1), (2)")
        task.until(2)
        synchronize(task, session, standby)
        session.execute("INSERT INTO orders VALUES (3), (4)")
        task.until(3)

        primary.kill()
        with pytest.raises(RetriableError):
            until_refused(task)
        standby.promote()
        with standby.connect() as other:
            other.execute("INSERT INTO orders VALUES (5)")
        until(task, 5)
        task.until_drained()
    assert ids(task) == [1, 2, 3, 4, 5]


def until_refused(task):
    """Poll until the server is missed."""
    while True:
        task.poll()


def test_a_slot_is_made_one_that_standbys_have(postgres_server, session):
    """PGC-46: also one that was there before."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    properties = postgres_server.properties | {"snapshot.mode": "no_data", "poll.interval.ms": 20}
    for failover in (False, True):
        with reading(properties | {"slot.failover": str(failover).lower()}) as task:
            task.until_drained()
            assert session.execute("SELECT failover FROM pg_replication_slots").fetchone() == (failover,)


def test_a_standby_that_is_away_holds_changes_back_and_ends_nothing(postgres_server, session, caplog):
    """PGC-46: the server warns that it waits for a slot that nobody reads; the connector waits, and says why once."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    session.execute("SELECT pg_create_physical_replication_slot('standby', true)")
    properties = postgres_server.properties | {
        "snapshot.mode": "no_data",
        "poll.interval.ms": 20,
        "slot.failover": "true",
    }
    with reading(properties) as task:
        task.until_drained()
        waits_for(session, "'standby'")
        rows = 0
        try:
            while not caplog.messages:  # the process that sends reads its settings again when it likes
                rows += 1
                session.execute("INSERT INTO orders VALUES (%s)", [rows])
                task.poll()
            rows += 1
            session.execute("INSERT INTO orders VALUES (%s)", [rows])
            task.poll()
            assert rows not in ids(task)
        finally:
            waits_for(session, "''")
        task.until(rows)

    assert ids(task) == list(range(1, rows + 1))
    [said] = caplog.messages
    assert "standby" in said
    assert "synchronized_standby_slots" in said


def ids(task):
    """The orders that were read."""
    return [value["after"]["id"] for _, _, value in task.records]


def waits_for(session, slots):
    """Have the server send what these standbys have, and nothing else."""
    session.execute(f"ALTER SYSTEM SET synchronized_standby_slots = {slots}")
    session.execute("SELECT pg_reload_conf()")
