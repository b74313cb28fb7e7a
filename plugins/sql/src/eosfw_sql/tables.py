"""The tables of a database, their columns and keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.sql.elements import quoted_name

from eosfw.data import Schema, struct
from eosfw_sql.column_types import ColumnType, TypeRules, column_type
from eosfw_sql.errors import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.config import Config
    from eosfw_sql.database import Database

_ANY: Final = {"%": ".*", "_": "."}


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table with what is known of its columns."""

    name: str
    table: sa.Table
    columns: tuple[ColumnType, ...]
    schema: Schema
    key: tuple[str, ...]
    """The columns of its primary key."""
    unique: frozenset[str]
    """Columns of which each alone is unique."""

    def column(self, property_name: str, name: str) -> sa.Column[Any]:
        """The column that a property names; ConfigError if there is none."""
        if name not in self.table.columns:
            there = ", ".join(self.table.columns.keys())
            raise refused(property_name, f"table {self.name} has no column {name!r}; it has: {there}")
        return self.table.columns[name]


def table_names(database: Database, config: Config) -> Sequence[str]:
    """The tables that the properties select, in their order by name; ConfigError if there is none."""
    pattern = config["schema.pattern"]
    listed = database.inspect(lambda inspector: _listed(inspector, pattern))
    patterns = [re.compile(one) for one in config["table.include.list"]]
    black = {*config["table.blacklist"]}
    chosen = [
        name
        for name in listed
        if (not patterns or any(one.fullmatch(name) for one in patterns))
        and not black & {name, name.rpartition(".")[2]}
    ]
    if not chosen:
        raise refused(
            "table.include.list" if patterns else "schema.pattern",
            f"database {database.name} has no such table that may be read; it has: {', '.join(listed) or 'none'}",
        )
    return chosen


def _listed(inspector: sa.Inspector, pattern: str | None) -> list[str]:
    if pattern is None:
        return sorted(inspector.get_table_names())
    expression = re.compile("".join(_ANY.get(letter, re.escape(letter)) for letter in pattern))
    schemas = [one for one in inspector.get_schema_names() if expression.fullmatch(one)]
    return sorted(f"{schema}.{name}" for schema in schemas for name in inspector.get_table_names(schema))


def source_table(database: Database, name: str, config: Config) -> SourceTable:
    """Look a table up; ConfigError if there is none, or one of its columns has a type without a schema."""
    schema_name, _, bare = name.rpartition(".")
    found = database.inspect(lambda inspector: _reflected(inspector, bare, schema_name or None))
    if found is None:
        raise refused("table.whitelist", f"database {database.name} has no table {name}; name one that exists")
    columns, key, unique = found
    rules = TypeRules(database.dialect, config["numeric.mapping"], config["db.timezone"])
    kinds = {column["name"]: column_type(column["type"], rules) for column in columns}
    unknown = [one for one, kind in kinds.items() if kind is None]
    if unknown:
        raise refused(
            "table.whitelist",
            f"table {name} has columns of types that are not supported: {', '.join(unknown)}; leave the table out",
        )
    known = {one: kind for one, kind in kinds.items() if kind is not None}
    quote = config["quote.sql.identifiers"] == "always"
    table = sa.Table(
        quoted_name(bare, quote),
        sa.MetaData(),
        *(sa.Column(quoted_name(one["name"], quote), one["type"], nullable=one["nullable"]) for one in columns),
        schema=quoted_name(schema_name, quote) if schema_name else None,
    )
    fields = {
        one["name"]: known[one["name"]].schema.as_optional() if one["nullable"] else known[one["name"]].schema
        for one in columns
    }
    return SourceTable(name, table, tuple(known.values()), struct(fields, name=bare), key, unique)


def _reflected(
    inspector: sa.Inspector, name: str, schema: str | None
) -> tuple[list[Any], tuple[str, ...], frozenset[str]] | None:
    try:
        columns = list(inspector.get_columns(name, schema))
    except exc.NoSuchTableError:
        return None
    key = tuple(inspector.get_pk_constraint(name, schema)["constrained_columns"])
    constraints = [tuple(one["column_names"]) for one in inspector.get_unique_constraints(name, schema)]
    indexes = [tuple(one["column_names"]) for one in inspector.get_indexes(name, schema) if one["unique"]]
    alone = {one[0] for one in (key, *constraints, *indexes) if len(one) == 1 and one[0] is not None}
    return columns, key, frozenset(alone)
