"""The replication slot and the publication of a connector."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from eosfw.errors import RetriableError
from eosfw_postgres.connection import result_within
from eosfw_postgres.errors import refused, translated
from eosfw_postgres.pgoutput import lsn_text

if TYPE_CHECKING:
    from psycopg import Connection, pq

    from eosfw.concurrency import Runtime
    from eosfw_postgres.connection import Database

__all__ = [
    "Slot",
    "SlotCreation",
    "drop_slot",
    "find_slot",
    "let_fail_over",
    "parse_lsn",
    "refuse_unusable",
    "take_over",
]

_PATIENCE = 1.0
"""Seconds for which a poll waits for a slot to be made: it must be possible to stop a task."""
_TAKE_OVER = 10.0
"""Seconds within which a server ends a process that was told to."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What `pg_replication_slots` says of a slot, and who reads it."""

    name: str
    plugin: str | None
    database: str | None
    confirmed_lsn: int
    wal_status: str | None
    active_pid: int | None
    reader: str | None
    """The `application_name` of the reader."""


def parse_lsn(text: str) -> int:
    """The number of an LSN such as `0/16B3748`."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def find_slot(session: Connection, name: str) -> Slot | None:
    """The slot, if it exists."""
    row = session.execute(
        "SELECT slot.plugin, slot.database, slot.confirmed_flush_lsn::text, slot.wal_status, slot.active_pid, "
        "  (SELECT application_name FROM pg_catalog.pg_stat_activity AS a WHERE a.pid = slot.active_pid) "
        "FROM pg_catalog.pg_replication_slots AS slot WHERE slot.slot_name = %s",
        [name],
    ).fetchone()
    if row is None:
        return None
    plugin, database, confirmed, wal_status, active_pid, reader = row
    return Slot(name, plugin, database, parse_lsn(confirmed or "0/0"), wal_status, active_pid, reader)


class SlotCreation:
    """Makes a slot, which the server has done once the transactions that run have ended; one thread uses it."""

    def __init__(self, database: Database, name: str, *, failover: bool) -> None:
        self._database, self._name = database, name
        # Version 14 takes no list of options.
        options = "(SNAPSHOT 'nothing', FAILOVER true)" if failover else "NOEXPORT_SNAPSHOT"
        self._command = f'CREATE_REPLICATION_SLOT "{name}" LOGICAL pgoutput {options}'
        self._connection: pq.abc.PGconn | None = None
        self.backend_pid: int | None = None
        """The process of the server that makes it, or has done so."""

    @property
    def is_under_way(self) -> bool:
        """Whether it was begun and is not made yet."""
        return self._connection is not None

    def consistent_point(self) -> int:
        """The LSN behind which the slot has every transaction; RetriableError if it is not made yet: ask again."""
        if self._connection is None:
            self._connection = self._database.replication_connection()
            self.backend_pid = self._connection.backend_pid
            self._connection.send_query(self._command.encode())
            self._connection.flush()
        try:
            with translated(str(self._database)):
                result = result_within(self._connection, _PATIENCE)
        except BaseException:
            self.close()
            raise
        if result is None:
            raise RetriableError(
                f"slot.name: replication slot {self._name!r} is made once the transactions that run on the server have "
                f"ended: see pg_stat_activity for one that was forgotten",
                retry_after=0.0,
            )
        self.close()
        return parse_lsn((result.get_value(0, 1) or b"0/0").decode())

    def close(self) -> None:
        """Give it up, if it is under way."""
        if self._connection is None:
            return
        if self._connection.is_busy():
            with suppress(psycopg.Error):  # a server that waits does not see that nobody asks any more
                self._connection.get_cancel().cancel()
        self._connection.finish()
        self._connection = None


def let_fail_over(session: Connection, database: Database, name: str) -> None:
    """Let standbys have the slot, too."""
    row = session.execute("SELECT failover FROM pg_catalog.pg_replication_slots WHERE slot_name = %s", [name])
    if row.fetchone() == (True,):
        return
    connection = database.replication_connection()
    try:
        database.command(connection, f'ALTER_REPLICATION_SLOT "{name}" (FAILOVER true)')
    finally:
        connection.finish()


def drop_slot(database: Database, name: str, own_pid: int | None, runtime: Runtime) -> None:
    """Drop the slot once the process of the server that has read it is gone, unless another one reads it by then."""
    deadline = runtime.now() + _TAKE_OVER
    with database.session() as session:
        slot = find_slot(session, name)
        while slot is not None and slot.active_pid and slot.active_pid == own_pid and runtime.now() < deadline:
            runtime.sleep(0.02)
            slot = find_slot(session, name)
        if slot is not None and slot.active_pid is None:
            session.execute("SELECT pg_catalog.pg_drop_replication_slot(%s)", [name])


def refuse_unusable(slot: Slot, database: str) -> None:
    """Refuse a slot of another kind or database, or one that the server has given up."""
    if slot.plugin != "pgoutput" or slot.database != database:
        raise refused(
            "slot.name",
            f"replication slot {slot.name!r} is of plugin {slot.plugin!r} and database {slot.database!r}, not of "
            f"'pgoutput' and {database!r}: name another slot",
        )
    if slot.wal_status == "lost":
        raise refused(
            "slot.name",
            f"replication slot {slot.name!r} is lost: the server has removed log that the connector had not read "
            f"(max_slot_wal_keep_size); changes are missing, so drop the slot, reset the connector's offsets, and let "
            f"it take a snapshot into new topics",
        )


def take_over(session: Connection, name: str, reader: str, runtime: Runtime) -> None:
    """End whoever reads the slot for the same connector: a task that the framework has shut out already.

    RetriableError if it is another one: each change goes to one of the two alone.
    """
    deadline = runtime.now() + _TAKE_OVER
    while (slot := find_slot(session, name)) is not None and slot.active_pid is not None:
        if slot.reader != reader:
            raise in_use(slot)
        session.execute("SELECT pg_catalog.pg_terminate_backend(%s)", [slot.active_pid])
        if runtime.now() > deadline:
            raise in_use(slot)
        runtime.sleep(0.02)


def in_use(slot: Slot) -> RetriableError:
    """The error about a slot that somebody else reads."""
    return RetriableError(
        f"slot.name: replication slot {slot.name!r} is read by {slot.reader!r}, process {slot.active_pid} of the "
        f"server: stop that reader, or name a slot of this connector alone",
        retry_after=1.0,
    )


def refuse_gap(slot: Slot, lsn: int) -> None:
    """Refuse a slot that has moved beyond what the topics hold."""
    if slot.confirmed_lsn > lsn:
        raise refused(
            "slot.name",
            f"replication slot {slot.name!r} begins at {lsn_text(slot.confirmed_lsn)}, behind "
            f"{lsn_text(lsn)}, up to which the changes are in Kafka: somebody else has read it, or has created it "
            f"again, so changes are missing; reset the connector's offsets, and let it take a snapshot into new topics",
        )
