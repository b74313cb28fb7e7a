"""What is read: a table, a view or a query, with its columns and keys."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.sql.elements import quoted_name

from eosfw.data import Schema, struct
from eosfw_sql.column_types import ColumnType, TypeRules, column_type
from eosfw_sql.errors import refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eosfw.config import Config
    from eosfw.records import SourcePartition
    from eosfw_sql.database import Database

_PROTOCOL = "1"
_QUERY = "query"


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table, a view or a query with what is known of its columns."""

    title: str
    """What messages call it."""
    table: sa.FromClause
    columns: tuple[ColumnType, ...]
    schema: Schema
    key: tuple[str, ...]
    """The columns of its primary key."""
    unique: frozenset[str]
    """Columns of which each alone is unique."""
    nullable: frozenset[str]
    """Columns that may be null."""
    declared: bool
    """Whether the database says what is unique and what may be null: of tables, not of views and queries."""

    def column(self, property_name: str, name: str) -> sa.ColumnElement[Any]:
        """The column that a property names; ConfigError if there is none."""
        if name not in self.table.columns:
            there = ", ".join(self.table.columns.keys())
            raise refused(property_name, f"{self.title} has no column {name!r}; it has: {there}")
        return self.table.columns[name]

    @property
    def selected(self) -> Sequence[sa.ColumnElement[Any]]:
        """Its columns, as what their schemas are made for."""
        return [
            column if kind.read_as is None else sa.type_coerce(column, kind.read_as).label(column.key)
            for column, kind in zip(self.table.columns, self.columns, strict=True)
        ]

    @property
    def key_columns(self) -> Sequence[sa.ColumnElement[Any]]:
        """The columns of its primary key."""
        return [self.table.columns[name] for name in self.key]


def source_partition(config: Config, table: str) -> SourcePartition:
    """The source partition of a table, or of the query, as in Confluent's JDBC source."""
    return {_QUERY: _QUERY} if config[_QUERY] else {"protocol": _PROTOCOL, "table": table}


def topic_of(config: Config, table: str) -> str:
    """The topic of a table; that of a query has no name but the prefix."""
    return str(config["topic.prefix"]) if config[_QUERY] else str(config["topic.prefix"]) + table.rpartition(".")[2]


def source_table(database: Database, name: str, config: Config) -> SourceTable:
    """Look a table up; ConfigError if there is none, or one of its columns has a type without a schema."""
    if config[_QUERY]:
        return _source_query(database, config)
    schema_name, _, bare = name.rpartition(".")
    found = database.inspect(lambda inspector: _reflected(inspector, bare, schema_name or None))
    if found is None:
        raise refused("table.whitelist", f"database {database.name} has no table {name}; name one that exists")
    quote = config["quote.sql.identifiers"] == "always"
    table = sa.Table(
        quoted_name(bare, quote),
        sa.MetaData(),
        *(sa.Column(quoted_name(one["name"], quote), one["type"], nullable=one["nullable"]) for one in found.columns),
        schema=quoted_name(schema_name, quote) if schema_name else None,
    )
    kinds = _column_types(
        found.columns,
        config,
        database.dialect,
        f"table {name}",
        "leave the table out, or read it by a query that casts them",
    )
    return SourceTable(
        title=f"table {name}",
        table=table,
        columns=tuple(kinds.values()),
        schema=_schema(found.columns, kinds, bare),
        key=found.key,
        unique=found.unique,
        nullable=frozenset(one["name"] for one in found.columns if one["nullable"]) - {*found.key},
        declared=found.declared,
    )


def _source_query(database: Database, config: Config) -> SourceTable:
    columns = database.columns_of_query(config[_QUERY])
    # SQLite gives types to columns of tables, not to expressions, not even to casts.
    remedy = "choose columns of tables alone" if database.dialect == "sqlite" else "cast them"
    kinds = _column_types(columns, config, database.dialect, "the query", remedy)
    return SourceTable(
        title="the query",
        table=database.subquery(config[_QUERY], columns),
        columns=tuple(kinds.values()),
        schema=_schema(columns, kinds, None),
        key=(),
        unique=frozenset(),
        nullable=frozenset(kinds),
        declared=False,
    )


def _column_types(
    columns: Sequence[Mapping[str, Any]], config: Config, dialect: str, title: str, remedy: str
) -> Mapping[str, ColumnType]:
    rules = TypeRules(dialect, config["numeric.mapping"], config["db.timezone"], config["timestamp.granularity"])
    kinds = {column["name"]: column_type(column["type"], rules) for column in columns}
    unknown = [one for one, kind in kinds.items() if kind is None]
    if unknown:
        raise refused(
            "table.whitelist",
            f"{title} has columns of types that are not supported: {', '.join(unknown)}; {remedy}",
        )
    return {one: kind for one, kind in kinds.items() if kind is not None}


def _schema(columns: Sequence[Mapping[str, Any]], kinds: Mapping[str, ColumnType], name: str | None) -> Schema:
    fields = {
        one["name"]: kinds[one["name"]].schema.as_optional() if one["nullable"] else kinds[one["name"]].schema
        for one in columns
    }
    return struct(fields, name=name)


@dataclass(frozen=True, slots=True)
class _Reflected:
    columns: Sequence[Mapping[str, Any]]
    key: tuple[str, ...]
    unique: frozenset[str]
    declared: bool


def _reflected(inspector: sa.Inspector, name: str, schema: str | None) -> _Reflected | None:
    try:
        with warnings.catch_warnings(category=exc.SAWarning, action="ignore"):  # of types, which are refused by name
            columns = list(inspector.get_columns(name, schema))
    except exc.NoSuchTableError:
        return None
    try:
        key = tuple(inspector.get_pk_constraint(name, schema)["constrained_columns"])
        constraints = [tuple(one["column_names"]) for one in inspector.get_unique_constraints(name, schema)]
        indexes = [tuple(one["column_names"]) for one in inspector.get_indexes(name, schema) if one["unique"]]
    except exc.NoSuchTableError:  # what some dialects say of views
        return _Reflected(columns, (), frozenset(), declared=False)
    alone = {one[0] for one in (key, *constraints, *indexes) if len(one) == 1 and one[0] is not None}
    # A view has neither keys nor indexes, and its columns do not tell whether they may be null.
    declared = bool(key or constraints or indexes) or not _is_view(inspector, name, schema)
    return _Reflected(columns, key, frozenset(alone), declared)


def _is_view(inspector: sa.Inspector, name: str, schema: str | None) -> bool:
    if name in inspector.get_view_names(schema):
        return True
    return inspector.dialect.name == "postgresql" and name in inspector.get_materialized_view_names(schema)
