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

    from eosfw.errors import ConfigError
    from eosfw_postgres.tables import Table

__all__ = [
    "Published",
    "ensure_publication",
    "is_published",
    "names_of",
    "published_of",
    "refuse_lacking",
    "refuse_without_right",
]

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
        raise _uncreatable(session, name, mode, statement, str(error.diag.message_primary)) from None


def refuse_without_right(session: Connection, name: str, mode: str, tables: Sequence[Table]) -> None:
    """Refuse a role that may not create the publication of tables."""
    why = _lacking_right(session, mode, tables)
    if why is not None:
        raise _uncreatable(session, name, mode, _creation(name, mode, tables), why)


def refuse_lacking(session: Connection, name: str, tables: Sequence[Table]) -> None:
    """Refuse a publication that is gone, or without tables that are needed: the server sends none of their changes."""
    if not is_published(session, name):
        raise refused("publication.name", f"publication {name!r} is gone: the server sends no changes without it")
    rows = session.execute("SELECT relid::bigint FROM pg_catalog.pg_get_publication_tables(%s)", [name])
    published = {oid for (oid,) in rows}
    lacking = [table for table in tables if table.oid not in published]
    if lacking:
        statement = sql.SQL("ALTER PUBLICATION {} ADD TABLE {}").format(sql.Identifier(name), names_of(lacking))
        shown = ", ".join(map(str, lacking))
        raise refused(
            "publication.name",
            f"publication {name!r} lacks {shown}, so the server sends none of their changes: "
            f"{statement.as_string(session)}, or leave them out of table.include.list. What was changed before that is "
            f"not sent: where the connector has run, let a signal (signal.data.collection) read the table anew",
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
    return create + sql.SQL(" FOR TABLE ") + names_of(tables)


def names_of(tables: Sequence[Table]) -> sql.Composed:
    """The names of tables as a statement has them."""
    return sql.SQL(", ").join(sql.Identifier(table.namespace, table.name) for table in tables)


def _lacking_right(session: Connection, mode: str, tables: Sequence[Table]) -> str | None:
    """Why the role may not create a publication, by the server's rules."""
    row = session.execute(
        "SELECT rolsuper, has_database_privilege(current_database(), 'CREATE') "
        "FROM pg_catalog.pg_roles WHERE rolname = current_user"
    ).fetchone()
    is_superuser, may_create = row or (False, False)
    if is_superuser:
        return None
    if mode == "all_tables":
        return "FOR ALL TABLES takes a superuser"
    if not may_create:
        return "the role lacks CREATE on the database"
    others = session.execute(
        "SELECT oid::bigint FROM pg_catalog.pg_class "
        "WHERE oid = ANY (%s::oid[]) AND NOT pg_has_role(relowner, 'USAGE')",
        [[table.oid for table in tables]],
    )
    foreign = {oid for (oid,) in others}
    shown = ", ".join(str(table) for table in tables if table.oid in foreign)
    return f"the role does not own {shown}" if foreign else None


def _uncreatable(session: Connection, name: str, mode: str, statement: sql.Composed, why: str) -> ConfigError:
    return refused(
        "publication.autocreate.mode",
        f"publication {name!r} cannot be created: {why}; have a role that may execute: "
        f"{statement.as_string(session)}{_FILTERED if mode == 'all_tables' else ''}",
    )
