"""What happens before a stream is opened: slot and publication are found or made, and checked against the offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw_postgres.errors import refused
from eosfw_postgres.pgoutput import lsn_text
from eosfw_postgres.position import Position
from eosfw_postgres.replication.publication import ensure_publication, refuse_lacking
from eosfw_postgres.replication.slot import (
    Slot,
    SlotCreation,
    find_slot,
    in_use,
    let_fail_over,
    parse_lsn,
    refuse_gap,
    refuse_unusable,
    take_over,
)
from eosfw_postgres.snapshot import next_transaction
from eosfw_postgres.tables import TableFilter, find_tables, needed_tables, refuse_none

if TYPE_CHECKING:
    from psycopg import Connection

    from eosfw.concurrency import Runtime
    from eosfw.config import Config
    from eosfw_postgres.connection import Database

__all__ = ["OpenedSlot", "log_end", "open_slot"]

OLDEST = 140000
"""The oldest version of the server, as `server_version_num` counts."""
FAILOVER = 170000
"""The oldest version with slots that standbys have, too."""


@dataclass(frozen=True, slots=True)
class OpenedSlot:
    """Where to read a slot from, and where the server's log ended at that moment."""

    position: Position
    log_end: int
    next_xid: int
    """The id of the transaction that is begun next: those before it may be running."""


def open_slot(
    database: Database,
    config: Config,
    position: Position | None,
    own_pid: int | None,
    creation: SlotCreation,
    runtime: Runtime,
) -> OpenedSlot:
    """Find the slot, or make it with its publication, and shut out an older reader of the same connector.

    `own_pid` is the process of the server that a task has read from before; only that one is ended then, since another
    one may be that of a newer task.
    """
    name = config["slot.name"]
    with database.session() as session:
        refuse_server(session)
        refuse_failover(session, config)
        publication, mode = config["publication.name"], config["publication.autocreate.mode"]
        read = find_tables(session, TableFilter.of(config))
        needed = needed_tables(session, config, read if config["table.include.list"] else ())
        if position is None and config["table.include.list"]:
            refuse_none(read, str(database))
        ensure_publication(session, publication, mode, [*read, *(one for one in needed if one not in read)])
        refuse_lacking(session, publication, needed)
        slot = None if creation.is_under_way else find_slot(session, name)
        if slot is not None:
            refuse_unusable(slot, database.name)
            _free(session, slot, database, own_pid, runtime)
            # Asked again: the reader that was ended may have confirmed more, or was about to make the slot.
            slot = find_slot(session, name)
        if slot is None:
            start = _created(name, position, creation)
        else:
            start = slot.confirmed_lsn
            if config["slot.failover"]:
                let_fail_over(session, database, name)
            if position is not None:
                refuse_gap(slot, position.lsn)
        end, next_xid = log_end(session), next_transaction(session)
    if position is not None and position.lsn > end:
        raise refused(
            "database.hostname",
            f"the log of database {database} ends at {lsn_text(end)}, before {lsn_text(position.lsn)}, up to which "
            f"changes are in Kafka: it is another server, or was restored; reset the connector's offsets, and let it "
            f"take a snapshot into new topics",
        )
    return OpenedSlot(position or Position(start), end, next_xid)


def refuse_server(session: Connection) -> None:
    """Refuse a server that is too old, has no logical log, or is a standby of an old version."""
    version = session.info.server_version
    if version < OLDEST:
        raise refused("database.hostname", f"PostgreSQL 14 or later is needed, not {version // 10000}")
    level = session.execute("SHOW wal_level").fetchone()
    if level != ("logical",):
        raise refused(
            "database.hostname",
            f"wal_level is {level[0] if level else None!r}, and logical replication needs 'logical': "
            f"ALTER SYSTEM SET wal_level = logical, and restart the server",
        )


def refuse_failover(session: Connection, config: Config) -> None:
    """Refuse a slot that standbys shall have, too, where there are none of that kind."""
    if config["slot.failover"] and session.info.server_version < FAILOVER:
        raise refused("slot.failover", "slots that standbys have, too, need PostgreSQL 17 or later: leave it out")


def log_end(session: Connection) -> int:
    """Where the server's log ends."""
    row = session.execute(
        "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END::text"
    ).fetchone()
    return parse_lsn(row[0]) if row else 0


def _created(name: str, position: Position | None, creation: SlotCreation) -> int:
    if position is not None:
        raise refused(
            "slot.name",
            f"replication slot {name!r} is gone, so what has changed since {lsn_text(position.lsn)} is not known: "
            f"reset the connector's offsets, and let it take a snapshot into new topics",
        )
    return creation.consistent_point()


def _free(session: Connection, slot: Slot, database: Database, own_pid: int | None, runtime: Runtime) -> None:
    if slot.active_pid is None:
        return
    if own_pid is not None and slot.active_pid != own_pid:
        raise in_use(slot)
    take_over(session, slot.name, database.application_name, runtime)
