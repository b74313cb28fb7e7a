"""What keeps a database from being read, found without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from eosfw.errors import ConfigError, Problem
from eosfw_postgres.replication.publication import is_published, names_of, refuse_lacking, refuse_without_right
from eosfw_postgres.replication.slot import find_slot, refuse_unusable
from eosfw_postgres.startup import refuse_failover, refuse_server
from eosfw_postgres.tables import TableFilter, find_tables, named_tables, needed_tables, refuse_none, signal_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg import Connection

    from eosfw.config import Config
    from eosfw_postgres.connection import Database

__all__ = ["problems_of"]


def problems_of(database: Database, config: Config) -> Iterator[Problem]:
    """The problems of a database; RetriableError if it does not answer."""
    try:
        with database.session() as session:
            yield from _found(refuse_server, session)
            yield from _found(refuse_failover, session, config)
            yield from _found(_refuse_role, session, database)
            yield from _found(_refuse_no_tables, session, database, config)
            yield from _found(_refuse_publication, session, config)
            yield from _found(_refuse_slot, session, database, config)
            yield from _found(_refuse_unreadable, session, database, config)
    except ConfigError as error:
        yield from error.problems


def _found(check: Callable[..., None], *arguments: object) -> Iterator[Problem]:
    try:
        check(*arguments)
    except ConfigError as error:
        yield from error.problems


def _refuse_role(session: Connection, database: Database) -> None:
    row = session.execute(
        "SELECT rolreplication OR rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user"
    ).fetchone()
    if row != (True,):
        raise ConfigError(
            Problem(
                "database.user",
                f"role {database.user!r} may not replicate: ALTER ROLE {database.user} REPLICATION, or name another",
            )
        )


def _refuse_no_tables(session: Connection, database: Database, config: Config) -> None:
    refuse_none(find_tables(session, TableFilter.of(config)), str(database))


def _refuse_publication(session: Connection, config: Config) -> None:
    name = config["publication.name"]
    if is_published(session, name):
        refuse_lacking(session, name, needed_tables(session, config, named_tables(session, config)))
        return
    signals, mode = signal_tables(session, config), config["publication.autocreate.mode"]
    if mode == "disabled":
        raise ConfigError(Problem("publication.name", f"there is no publication {name!r}: CREATE PUBLICATION it"))
    read = find_tables(session, TableFilter.of(config))
    if read:
        refuse_without_right(session, name, mode, [*read, *(one for one in signals if one not in read)])


def _refuse_slot(session: Connection, database: Database, config: Config) -> None:
    slot = find_slot(session, config["slot.name"])
    if slot is not None:
        refuse_unusable(slot, database.name)


def _refuse_unreadable(session: Connection, database: Database, config: Config) -> None:
    if config["snapshot.mode"] in ("no_data", "never") or find_slot(session, config["slot.name"]) is not None:
        return  # a slot that is there may have its snapshot behind it, and changes need no right of a table
    tables = find_tables(session, TableFilter.of(config))
    # Of a column at least: a publication may have the others left out.
    allowed = session.execute(
        "SELECT oid::bigint FROM pg_catalog.pg_class WHERE oid = ANY (%s::oid[]) "
        "AND has_schema_privilege(relnamespace, 'USAGE') AND has_any_column_privilege(oid, 'SELECT')",
        [[table.oid for table in tables]],
    )
    readable = {oid for (oid,) in allowed}
    lacking = [table for table in tables if table.oid not in readable]
    if lacking:
        grants = sql.SQL("GRANT USAGE ON SCHEMA {} TO {role}; GRANT SELECT ON {} TO {role}").format(
            sql.SQL(", ").join(map(sql.Identifier, sorted({table.namespace for table in lacking}))),
            names_of(lacking),
            role=sql.Identifier(database.user),
        )
        raise ConfigError(
            Problem(
                "database.user",
                f"role {database.user!r} may not read {', '.join(map(str, lacking))}: {grants.as_string(session)}",
            )
        )
