"""What keeps a database from being read is said in a sentence, with what to do."""

from __future__ import annotations

import re
from types import SimpleNamespace

import psycopg
import pytest
from psycopg import pq

from eosfw.errors import ConfigError, RetriableError
from eosfw_postgres.connection import Database
from eosfw_postgres.connector import PostgresConnector
from eosfw_postgres.errors import from_result, translation
from eosfw_postgres.properties import CONNECTOR
from eosfw_postgres.startup import refuse_failover, refuse_server

from .reading import reading
from .server import lose_slot


@pytest.fixture
def properties(postgres_server, session):
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    return postgres_server.properties | {"poll.interval.ms": 20}


@pytest.fixture
def role(session):
    """A role that may log in, and nothing more."""
    session.execute("CREATE ROLE weak LOGIN")
    yield "weak"
    session.execute("DROP OWNED BY weak CASCADE")
    session.execute("DROP ROLE weak")


def checked(properties):
    config = CONNECTOR.parse({name: str(value) for name, value in properties.items()})
    return [str(problem) for problem in PostgresConnector().check(config)]


def test_a_database_that_can_be_read_has_no_problem(properties):
    """PGC-15."""
    assert checked(properties) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"database.dbname": "nowhere"}, r"database.dbname: .*name a database of the server"),
        ({"database.user": "nobody"}, r"database.user: .*name a role that exists"),
        ({"table.include.list": "public.missing"}, r"table.include.list: no table .* is read: name tables that exist"),
        (
            {"publication.autocreate.mode": "disabled"},
            r"publication.name: there is no .*CREATE PUBLICATION",
        ),
    ],
)
def test_wrong_properties_are_refused(properties, change, said):
    """PGC-15: by the check, and by a task."""
    (problem,) = checked(properties | change)
    assert re.search(said, problem)
    with reading(properties | change) as task, pytest.raises(ConfigError, match=said):
        task.poll()


def test_a_task_goes_on_when_all_its_tables_were_dropped(properties, session):
    """PGC-22: they may come again; only what was never there is a wrong name."""
    named = properties | {"table.include.list": "public.orders"}
    with reading(named) as task:
        task.until_drained()
        offset = task.offset
    session.execute("DROP TABLE orders")

    with reading(named, offset) as task:
        assert task.until_drained() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"database.hostname": "localhost:5432"}, r"database.hostname: .*database.port"),
        ({"database.hostname": "one,two:5433"}, r"database.hostname: .*database.port"),
        ({"database.hostname": "jdbc:postgresql://localhost/shop"}, r"database.hostname: .*not a URL"),
        ({"plugin.name": "decoderbufs"}, r"plugin.name: String must be one of: pgoutput"),
    ],
)
def test_properties_that_no_server_can_have_are_refused_without_asking_it(properties, change, said):
    """PGC-62: a host that is none would be asked again for ever."""
    with pytest.raises(ConfigError, match=said):
        CONNECTOR.parse({name: str(value) for name, value in (properties | change).items()})


@pytest.mark.parametrize("host", ["localhost", "10.0.0.1", "::1", "2001:db8::7", "/var/run/postgresql", "one,two"])
def test_hosts_addresses_and_folders_are_taken(properties, host):
    """PGC-62."""
    assert CONNECTOR.parse(
        properties | {"database.hostname": host, "poll.interval.ms": "20", "plugin.name": "pgoutput"}
    )


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("filtered", 'CREATE PUBLICATION "dbz_publication" FOR TABLE "public"."orders"$'),
        ("all_tables", "FOR ALL TABLES, or publish .* with publication.autocreate.mode=filtered$"),
    ],
)
def test_a_role_that_may_not_publish_gets_the_statement(properties, role, session, mode, said):
    """PGC-62: which somebody else may execute; from the check, too."""
    session.execute("ALTER ROLE weak REPLICATION")
    session.execute("GRANT USAGE ON SCHEMA public TO weak; GRANT SELECT ON orders TO weak")
    properties |= {"database.user": role, "publication.autocreate.mode": mode}

    (problem,) = checked(properties)
    assert re.search(said, problem)
    with reading(properties) as task, pytest.raises(ConfigError, match=said):
        task.poll()


def test_a_role_needs_the_database_and_the_tables_to_publish_them(properties, role, session):
    """PGC-62: CREATE on the one, and to own the others, also by a role that it is a member of."""
    session.execute("ALTER ROLE weak REPLICATION")
    properties |= {"database.user": role, "publication.autocreate.mode": "filtered"}
    session.execute("GRANT USAGE ON SCHEMA public TO weak; GRANT SELECT ON orders TO weak")
    assert "cannot be created: the role lacks CREATE on the database" in checked(properties)[0]
    session.execute("GRANT CREATE ON DATABASE postgres TO weak")
    assert "cannot be created: the role does not own public.orders" in checked(properties)[0]

    session.execute("ALTER TABLE orders OWNER TO weak")

    assert checked(properties) == []
    with reading(properties) as task:
        task.until_drained()


def test_a_connection_that_pg_hba_rejects_is_not_tried_again():
    """PGC-62."""
    error = psycopg.OperationalError('FATAL: pg_hba.conf rejects connection for host "[local]", user "x", database "y"')

    assert isinstance(translation(error, "'y'"), ConfigError)


@pytest.mark.parametrize(
    ("state", "file", "function", "said", "kind", "property_name"),
    [
        ("55006", "slot.c", "ReplicationSlotAcquire", "Slot »s« ist aktiv für PID 5", RetriableError, "slot.name"),
        ("42704", "slot.c", "SearchNamedReplicationSlot", "Slot »s« existiert nicht", ConfigError, "slot.name"),
        ("55000", "logical.c", "CreateDecodingContext", "Slot »s« wurde ungültig", ConfigError, "slot.name"),
        ("42704", "pg_publication.c", "get_publication_oid", "»p« existiert nicht", ConfigError, "publication.name"),
    ],
)
def test_errors_of_slot_and_publication_are_known_in_every_language(state, file, function, said, kind, property_name):
    """PGC-62: `lc_messages` of the server chooses that of the sentence, and of nothing else."""
    fields = {
        pq.DiagnosticField.SQLSTATE: state,
        pq.DiagnosticField.MESSAGE_PRIMARY: said,
        pq.DiagnosticField.SOURCE_FILE: file,
        pq.DiagnosticField.SOURCE_FUNCTION: function,
    }
    result = SimpleNamespace(error_field=lambda field: fields[field].encode() if field in fields else None)

    error = translation(from_result(result), "'y'")

    assert isinstance(error, kind)
    assert property_name in str(error)


def test_a_server_that_vanishes_is_noticed(properties):
    """PGC-06: one whose machine lost its power ends no connection, and Linux alone would wait for two hours."""
    database = Database.of(CONNECTOR.parse({name: str(value) for name, value in properties.items()}), "eosfw test")
    with database.session() as session:
        given = session.info.get_parameters()

    idle, interval, count = (int(given[f"keepalives_{name}"]) for name in ("idle", "interval", "count"))
    assert idle + interval * count <= 120
    assert int(given["tcp_user_timeout"]) <= 120_000


def test_a_server_that_does_not_answer_is_asked_again(properties):
    """PGC-06: by a poll; the check says so at once."""
    properties |= {"database.hostname": "/nowhere"}
    with pytest.raises(RetriableError, match="does not answer"):
        checked(properties)
    with reading(properties) as task, pytest.raises(RetriableError, match="does not answer"):
        task.poll()


def test_a_role_that_may_not_replicate_is_refused(properties, role, session):
    """PGC-15."""
    session.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
    properties |= {"database.user": role}
    assert "database.user: role 'weak' may not replicate: ALTER ROLE weak REPLICATION" in checked(properties)[0]
    with reading(properties) as task, pytest.raises(ConfigError, match="give the role what it lacks"):
        task.poll()


def test_a_role_that_may_not_read_a_table_is_refused(properties, role, session):
    """PGC-15: without a value of it."""
    session.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
    session.execute("ALTER ROLE weak REPLICATION")
    session.execute("INSERT INTO orders VALUES (123456)")
    properties |= {"database.user": role}
    with reading(properties) as task, pytest.raises(ConfigError) as caught:
        task.until(1)
    assert "permission denied" in str(caught.value)
    assert "123456" not in str(caught.value)


def test_the_check_knows_what_the_snapshot_may_not_read(properties, role, session):
    """PGC-15: a snapshot that is over, or is not wanted, reads no row."""
    session.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
    session.execute("ALTER ROLE weak REPLICATION")
    properties |= {"database.user": role}

    (problem,) = checked(properties)

    assert problem.endswith(
        'may not read public.orders: GRANT USAGE ON SCHEMA "public" TO "weak"; '
        'GRANT SELECT ON "public"."orders" TO "weak"'
    )
    assert checked(properties | {"snapshot.mode": "no_data"}) == []
    session.execute("GRANT USAGE ON SCHEMA public TO weak; GRANT SELECT (id) ON orders TO weak")
    assert checked(properties) == []


def test_a_publication_without_a_table_that_is_named_is_refused(properties, session):
    """PGC-15: its changes would never come."""
    session.execute("CREATE TABLE other (id int PRIMARY KEY)")
    session.execute("CREATE PUBLICATION dbz_publication FOR TABLE other")
    properties |= {"table.include.list": "public.orders"}
    said = (
        'lacks public.orders.*: ALTER PUBLICATION "dbz_publication" ADD TABLE "public"."orders".* before that is not '
        "sent: .*signal"
    )
    assert re.search(said, checked(properties)[0])
    with reading(properties) as task, pytest.raises(ConfigError, match=said):
        task.poll()


def test_a_slot_of_another_database_is_refused(properties, session):
    """PGC-15."""
    session.execute("SELECT pg_create_logical_replication_slot('debezium', 'pgoutput')")

    assert any("name another slot" in one for one in checked(properties | {"database.dbname": "template1"}))


def test_a_lost_slot_is_refused(properties, session):
    """PGC-15: the server has removed log that was not read."""
    with reading(properties) as task:
        task.until_drained()
        offset = task.offset
    lose_slot(session)

    assert "is lost" in checked(properties)[0]
    with reading(properties, offset) as task, pytest.raises(ConfigError, match=r"is lost.*drop the slot, reset"):
        task.poll()


@pytest.mark.parametrize(
    ("version", "level", "said"),
    [(130000, "logical", "14 or later is needed, not 13"), (180004, "replica", "ALTER SYSTEM SET wal_level = logical")],
)
def test_a_server_without_logical_log_is_refused(version, level, said):
    """PGC-15: with the statement that changes it."""
    answer = SimpleNamespace(fetchone=lambda: (level,))
    server = SimpleNamespace(info=SimpleNamespace(server_version=version), execute=lambda _: answer)

    with pytest.raises(ConfigError, match=said):
        refuse_server(server)


@pytest.fixture
def read(properties):
    """A task that has read a change."""
    with reading(properties | {"snapshot.mode": "no_data", "table.include.list": "public[.]orders"}) as task:
        task.until_drained()
        yield task


def test_changes_without_a_publication_are_missed(read, session, properties):
    """PGC-47: one that is dropped, and made anew, has left out what was changed in between."""
    session.execute("INSERT INTO orders VALUES (1)")
    read.until(1)
    session.execute("DROP PUBLICATION dbz_publication")
    session.execute("INSERT INTO orders VALUES (2)")
    with pytest.raises(ConfigError, match="did not exist while changes were made that the slot has"):
        poll_for_ever(read)
    with (
        reading(properties | {"snapshot.mode": "no_data"}, read.offset) as again,
        pytest.raises(ConfigError, match="did not exist while"),
    ):
        poll_for_ever(again)


def test_changes_before_the_publication_are_in_the_snapshot(properties, session):
    """PGC-47: a slot may have been made before its publication; before version 18 the server does not go on then."""
    session.execute("SELECT pg_create_logical_replication_slot('debezium', 'pgoutput')")
    session.execute("INSERT INTO orders VALUES (1)")
    with reading(properties) as task:
        if session.info.server_version < 180000:
            with pytest.raises(ConfigError, match="did not exist while changes were made"):
                task.until_drained()
            return
        assert len(task.until_drained()) == 1
        session.execute("INSERT INTO orders VALUES (2)")
        task.until(2)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP PUBLICATION dbz_publication", "publication 'dbz_publication' is gone"),
        ("ALTER PUBLICATION dbz_publication DROP TABLE orders", r"lacks public.orders, so"),
    ],
)
def test_a_publication_that_loses_a_table_is_noticed(properties, session, statement, said):
    """PGC-47: without a change, too; the server says nothing of it."""
    session.execute("CREATE PUBLICATION dbz_publication FOR TABLE orders")
    own = {"snapshot.mode": "no_data", "table.include.list": "public[.]orders", "slot.lag.interval.ms": 1}
    with reading(properties | own) as task:
        task.until_drained()
        session.execute(statement)
        with pytest.raises(ConfigError, match=said):
            poll_for_ever(task)


def poll_for_ever(task):
    """Until an error."""
    while True:
        task.poll()


def test_a_slot_for_standbys_needs_a_server_that_has_such():
    """PGC-46: by the check, and by a task."""
    session = SimpleNamespace(info=SimpleNamespace(server_version=160004))
    with pytest.raises(ConfigError, match=r"slot.failover: .* need PostgreSQL 17 or later"):
        refuse_failover(session, {"slot.failover": True})
    refuse_failover(session, {"slot.failover": False})
