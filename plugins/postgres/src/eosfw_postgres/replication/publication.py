"""The publication of a connector, which says what changes the server sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from eosfw_postgres.errors import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from eosfw_postgres.tables import Table

__all__ = ["Published", "ensure_publication", "is_published", "published_of", "refuse_lacking"]

LISTS, GENERATED = 150000, 180000
"""The oldest versions whose publications have column lists and row filters, and may have generated columns."""


_FILTERED = ", or publish the tables that are read alone with publication.autocreate.mode=filtered"


def is_published(session: Connection, name: str) -> bool:
    """Whether there is a publication of that name."""
    return session.execute("SELECT FROM pg_catalog.pg_publication WHERE pubname = %s", [name]).fetchone() is not None


def ensure_publication(session: Connection, name: str, mode: str, tables: Sequence[Table]) -> None:
    """Create the publication of tables if it does not exist, as `publication.autocreate.mode` says."""
    if is_published(session, name):
        return
    if mode == "disabled":
        raise refused(
            "publication.name",
            f"there is no publication {name!r}: CREATE PUBLICATION it, or let the connector do so with "
            f"publication.autocreate.mode=filtered",
        )
    statement = _creation(name, mode, tables)
    try:
        session.execute(statement)
    except InsufficientPrivilege as error:
        raise refused(
            "publication.autocreate.mode",
            f"publication {name!r} cannot be created: {error.diag.message_primary}; have a role that may execute: "
            f"{statement.as_string(session)}{_FILTERED if mode == 'all_tables' else ''}",
        ) from None


def refuse_lacking(session: Connection, name: str, tables: Sequence[Table]) -> None:
    """Refuse a publication that is gone, or without tables that are needed: the server sends none of their changes."""
    if not is_published(session, name):
        raise refused("publication.name", f"publication {name!r} is gone: the server sends no changes without it")
    rows = session.execute("SELECT relid::bigint FROM pg_catalog.pg_get_publication_tables(%s)", [name])
    published = {oid for (oid,) in rows}
    lacking = [str(table) for table in tables if table.oid not in published]
    if lacking:
        raise refused(
            "publication.name",
            f"publication {name!r} lacks {', '.join(lacking)}, so the server sends none of their changes: "
            f"ALTER PUBLICATION {name} ADD TABLE {', '.join(lacking)}, or leave them out of table.include.list",
        )


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication tells of a table."""

    columns: frozenset[str] | None = None
    """Their names; None for all but those that are generated."""
    condition: str = "true"
    """Which rows, in SQL."""


def published_of(session: Connection, name: str, table: Table) -> Published:
    """The column list and the row filter of a table, which it may have from version 15 on; all if it is not there."""
    if session.info.server_version < LISTS:
        return Published()
    found = session.execute(
        "SELECT p.attnames, p.rowfilter, array(SELECT a.attname FROM pg_catalog.pg_attribute AS a "
        "WHERE a.attrelid = %s::oid AND a.attgenerated <> '') "
        "FROM pg_catalog.pg_publication_tables AS p WHERE p.pubname = %s AND p.schemaname = %s AND p.tablename = %s",
        [table.oid, name, table.namespace, table.name],
    ).fetchone()
    if found is None:
        return Published()
    columns, condition, generated = found
    if session.info.server_version < GENERATED:
        columns = set(columns) - set(generated)
    return Published(frozenset(columns), condition or "true")


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
