"""Connections to the server: sessions for SQL, and those of the replication protocol."""

from __future__ import annotations

import select
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg import conninfo, pq

from eosfw_postgres.errors import from_result, translated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eosfw.config import Config

__all__ = ["BATCH_BYTES", "Database", "copied_lines", "received_within", "result_within"]

BATCH_BYTES = 1 << 23
"""A batch of so many bytes is returned even if it has fewer rows or changes than asked for."""
CONNECT_TIMEOUT = 10
"""Seconds for one attempt to connect."""
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 6, "tcp_user_timeout": 90_000}
"""A server whose machine or network has failed ends no connection: within two minutes that is an error."""
_OPTIONS = (
    "-c DateStyle=ISO -c IntervalStyle=postgres -c TimeZone=UTC -c extra_float_digits=1 -c bytea_output=hex "
    "-c search_path= -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
)
"""Snapshot and stream write a value as the same text, and a snapshot lasts as long as it takes, whatever the role's own
settings are."""
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE)
_LOCK_TIMEOUT = "-c lock_timeout=1s"
"""A session asks again rather than wait for who has locked a table: meanwhile nothing is read, and no task ends."""


@dataclass(frozen=True, slots=True, repr=False)
class Database:
    """The database of a connector; its text names no secret."""

    host: str
    port: int
    name: str
    user: str
    password: str | None
    sslmode: str
    sslrootcert: str | None
    application_name: str

    @classmethod
    def of(cls, config: Config, application_name: str) -> Database:
        """The database that the properties name."""
        return cls(
            host=config["database.hostname"],
            port=config["database.port"],
            name=config["database.dbname"],
            user=config["database.user"],
            password=config["database.password"],
            sslmode=config["database.sslmode"],
            sslrootcert=config["database.sslrootcert"],
            application_name=application_name,
        )

    def __str__(self) -> str:
        return f"{self.name!r} at {self.host}:{self.port}"

    @contextmanager
    def session(self) -> Iterator[psycopg.Connection]:
        """A session whose statements are transactions of their own, closed at the end of the block."""
        connection = self.connect()
        try:
            with translated(str(self)):
                yield connection
        finally:
            connection.close()

    def connect(self) -> psycopg.Connection:
        """A session of that kind, to be closed by the caller."""
        with translated(str(self)):
            return psycopg.connect(self._conninfo(options=f"{_OPTIONS} {_LOCK_TIMEOUT}"), autocommit=True)

    def replication_connection(self) -> pq.abc.PGconn:
        """A connection that takes the commands of the replication protocol."""
        with translated(str(self)):
            # A slot is made once the transactions before it have ended, however long that takes.
            connection = pq.PGconn.connect(self._conninfo(replication="database", options=_OPTIONS).encode())
            if connection.status != pq.ConnStatus.OK:
                message = connection.get_error_message()
                connection.finish()
                raise psycopg.OperationalError(message)
            return connection

    def command(self, connection: pq.abc.PGconn, command: str) -> pq.abc.PGresult:
        """The result of a command of the replication protocol."""
        with translated(str(self)):
            result = connection.exec_(command.encode())
            if result.status in _FAILED:
                raise from_result(result)
            return result

    def _conninfo(self, **more: str) -> str:
        secrets = {"password": self.password} if self.password else {}
        # Of a primary and its standbys the one that is the primary now.
        primary = {"target_session_attrs": "read-write"} if "," in self.host else {}
        certificates = {"sslrootcert": self.sslrootcert} if self.sslrootcert else {}
        return conninfo.make_conninfo(
            "",
            host=self.host,
            port=self.port,
            dbname=self.name,
            user=self.user,
            sslmode=self.sslmode,
            application_name=self.application_name,
            connect_timeout=CONNECT_TIMEOUT,
            client_encoding="UTF8",
            **_ALIVE,
            **secrets,
            **certificates,
            **primary,
            **more,
        )


def copied_lines(connection: pq.abc.PGconn, query: str, most: int) -> Iterator[list[memoryview]]:
    """The lines of a COPY TO STDOUT, at most so many at once, and of `BATCH_BYTES` or little more; psycopg's errors.

    Without psycopg's own loop, which costs more than a row does.
    """
    connection.send_query(query.encode())
    connection.flush()
    result_within(connection, None)
    lines: list[memoryview] = []
    held = 0
    while True:
        size, line = connection.get_copy_data(1)
        if size > 0:
            lines.append(line)
            held += size
            if len(lines) == most or held >= BATCH_BYTES:
                yield lines
                lines, held = [], 0
        elif size == 0:
            received_within(connection, None)
        else:
            break
    if lines:
        yield lines
    while result_within(connection, None) is not None:
        continue


def result_within(connection: pq.abc.PGconn, seconds: float | None) -> pq.abc.PGresult | None:
    """The next result of what was sent; None if there is none, or if it does not come in time. psycopg's errors."""
    while connection.is_busy():
        if not received_within(connection, seconds):
            return None
    result = connection.get_result()
    if result is not None and result.status in _FAILED:
        raise from_result(result)
    return result


def received_within(connection: pq.abc.PGconn, seconds: float | None) -> bool:
    """Wait for something to read, and read it, for at most so many seconds; None for as long as it takes."""
    poller = select.poll()  # `select.select` takes no socket of a process that has a thousand files open
    poller.register(connection.socket, select.POLLIN)
    if not poller.poll(None if seconds is None else seconds * 1000):
        return False
    connection.consume_input()
    return True
