"""The tables of the database, and which of them are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql
from psycopg.errors import LockNotAvailable, UndefinedTable

from eosfw_postgres.errors import refused
from eosfw_postgres.pgoutput import Column, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from eosfw.config import Config

__all__ = [
    "Table",
    "TableFilter",
    "find_tables",
    "named_tables",
    "needed_tables",
    "only_inserts",
    "primary_key",
    "refuse_none",
    "relation_of",
    "signal_tables",
    "topic_of",
    "unmatched_patterns",
    "unreadable",
]

_MEANWHILE = "while tables before it were read"
_ILLEGAL = re.compile(r"[^a-zA-Z0-9._-]")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be published."""

    oid: int
    namespace: str
    name: str
    replica_identity: str

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"


class TableFilter:
    """`table.include.list` and `table.exclude.list`: regular expressions for a whole name, in any case."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = [re.compile(one, re.IGNORECASE) for one in include]
        self._exclude = [re.compile(one, re.IGNORECASE) for one in exclude]

    @classmethod
    def of(cls, config: Config) -> TableFilter:
        """The filter of the properties."""
        return cls(config["table.include.list"], config["table.exclude.list"])

    def __call__(self, namespace: str, name: str) -> bool:
        """Whether a table is read."""
        table = f"{namespace}.{name}"
        if self._include and not any(one.fullmatch(table) for one in self._include):
            return False
        return not any(one.fullmatch(table) for one in self._exclude)


def find_tables(session: Connection, wanted: TableFilter) -> list[Table]:
    """The tables that are read, in the order of their names; no views, no foreign, no temporary ones."""
    rows = session.execute(
        "SELECT c.oid::bigint, n.nspname, c.relname, c.relreplident::text "
        "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname <> 'information_schema' "
        'AND n.nspname !~ \'^pg_\' ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"'
    )
    return [Table(*row) for row in rows if wanted(row[1], row[2])]


def named_tables(session: Connection, config: Config) -> list[Table]:
    """The tables that `table.include.list` selects; none where it is empty."""
    return find_tables(session, TableFilter.of(config)) if config["table.include.list"] else []


def unmatched_patterns(config: Config, named: Sequence[Table]) -> list[str]:
    """Entries of `table.include.list` that select none of the tables named; most likely one is misspelt."""
    return [
        one
        for one in config["table.include.list"]
        if not any(re.fullmatch(one, str(table), re.IGNORECASE) for table in named)
    ]


def refuse_none(tables: Sequence[Table], database: str) -> None:
    """Refuse to read none at all, most likely by a wrong name."""
    if not tables:
        raise refused(
            "table.include.list", f"no table of database {database} is read: name tables that exist, as SCHEMA.TABLE"
        )


def needed_tables(session: Connection, config: Config, named: Sequence[Table]) -> list[Table]:
    """The tables that a publication must have: those that are named, and the signal table. ConfigError without that."""
    return [*named, *(one for one in signal_tables(session, config) if one not in named)]


def signal_tables(session: Connection, config: Config) -> list[Table]:
    """The signal table, if one is named; ConfigError if it does not exist."""
    name = config["signal.data.collection"]
    if name is None:
        return []
    found = find_tables(session, TableFilter([re.escape(name)], []))
    if not found:
        raise refused(
            "signal.data.collection",
            f"there is no table {name}: CREATE TABLE {name} (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, "
            f"data varchar(2048)), and name it as SCHEMA.TABLE",
        )
    return found


def relation_of(session: Connection, table: Table, published: frozenset[str] | None = None) -> Relation:
    """A table as the stream would describe it, its key being its replica identity.

    `published` are the columns that the server sends; None for all but those that are generated.
    """
    rows = session.execute(
        "SELECT a.attname, a.atttypid::bigint, a.atttypmod, EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE "
        "i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey) AND "
        "CASE WHEN %s = 'i' THEN i.indisreplident ELSE i.indisprimary END), a.attgenerated <> '' "
        "FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = %s::oid AND a.attnum > 0 AND NOT a.attisdropped "
        "ORDER BY a.attnum",
        [table.replica_identity, table.oid],
    )
    columns = [
        Column(name, *column)
        for name, *column, is_generated in rows
        if (not is_generated if published is None else name in published)
    ]
    return Relation(table.oid, table.namespace, table.name, table.replica_identity, tuple(columns))


def unreadable(session: Connection, table: Table) -> str | None:
    """Why the snapshot of the session does not show the rows of a table; None if it does, and nobody can change that.

    A snapshot finds no rows in what ALTER TABLE has rewritten after it: those have the id of a later transaction.
    """
    try:
        session.execute(sql.SQL("SELECT FROM {} LIMIT 0").format(sql.Identifier(table.namespace, table.name)))  # a lock
    except UndefinedTable:
        return f"was renamed or dropped {_MEANWHILE}"
    except LockNotAvailable:
        return "is locked, as by ALTER TABLE"
    # The row is that of the snapshot, the function looks at what is there now.
    row = session.execute(
        "SELECT relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(oid) FROM pg_catalog.pg_class "
        "WHERE oid = %s::oid",
        [table.oid],
    ).fetchone()
    return None if row == (False,) else f"was rewritten {_MEANWHILE}"


def only_inserts(relation: Relation, primary_key: Sequence[str]) -> str | None:
    """What to say of a table in which rows can be inserted alone while it is published; None for others."""
    if relation.replica_identity != "d" or primary_key:
        return None
    name = f"{relation.namespace}.{relation.name}"
    return (
        f"PostgreSQL refuses to update and delete rows of table {name} while it is published, since nothing says which "
        f"rows these are: give it a primary key, ALTER TABLE {name} REPLICA IDENTITY FULL, or take it out of the "
        f"publication"
    )


def primary_key(session: Connection, oid: int) -> tuple[str, ...]:
    """The names of the columns of a table's primary key, in its order; none if it has no primary key."""
    rows = session.execute(
        "SELECT a.attname FROM pg_catalog.pg_index AS i, unnest(i.indkey) WITH ORDINALITY AS k(attnum, at), "
        "pg_catalog.pg_attribute AS a WHERE i.indrelid = %s::oid AND i.indisprimary AND a.attrelid = i.indrelid "
        "AND a.attnum = k.attnum ORDER BY k.at",
        [oid],
    )
    return tuple(name for (name,) in rows)


def topic_of(prefix: str, namespace: str, name: str) -> str:
    """The topic of a table; what a topic's name cannot hold becomes `_`."""
    return _ILLEGAL.sub("_", f"{prefix}.{namespace}.{name}")
