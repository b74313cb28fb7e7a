"""The publication of a connector, which says what changes the server sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from eosfw_postgres.errors import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from eosfw_postgres.tables import Table

__all__ = ["ensure_publication"]


def ensure_publication(session: Connection, name: str, mode: str, tables: Sequence[Table]) -> None:
    """Create the publication if it does not exist, as `publication.autocreate.mode` says."""
    found = session.execute("SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = %s", [name]).fetchone()
    if found is not None:
        return
    if mode == "disabled":
        raise refused(
            "publication.name",
            f"there is no publication {name!r}: CREATE PUBLICATION it, or let the connector do so with "
            f"publication.autocreate.mode=filtered",
        )
    session.execute(_creation(name, mode, tables))


def _creation(name: str, mode: str, tables: Sequence[Table]) -> sql.Composed:
    create = sql.SQL("CREATE PUBLICATION {}").format(sql.Identifier(name))
    if mode == "all_tables":
        return create + sql.SQL(" FOR ALL TABLES")
    if not tables:
        raise refused(
            "table.include.list",
            f"no table of the database is read, so there is nothing to publish in {name!r}: name tables that exist",
        )
    named = sql.SQL(", ").join(sql.Identifier(table.namespace, table.name) for table in tables)
    return create + sql.SQL(" FOR TABLE ") + named
