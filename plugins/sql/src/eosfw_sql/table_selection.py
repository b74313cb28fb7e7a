"""Which tables of a database the properties select."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eosfw_sql.errors import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from eosfw.config import Config
    from eosfw_sql.database import Database

_ANY: Final = {"%": ".*", "_": "."}


def selected_tables(database: Database, config: Config) -> Sequence[str]:
    """Their names in order; none for a query. Tables that are named are not looked up.

    So tasks of named tables start while nothing answers. ConfigError if there is no table to read.
    """
    if config["query"]:
        return ()
    return config["table.whitelist"] or _found(database, config)


def unmatched_patterns(config: Config, names: Sequence[str]) -> Sequence[str]:
    """Entries of `table.include.list` that select none of these tables; most likely one is misspelt."""
    return [one for one in config["table.include.list"] if not any(re.fullmatch(one, name) for name in names)]


def _found(database: Database, config: Config) -> Sequence[str]:
    pattern = _schema_pattern(database, config)
    listed = database.inspect(lambda inspector: _listed(inspector, pattern, config["table.types"]))
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


def _schema_pattern(database: Database, config: Config) -> str | None:
    pattern: str | None = config["schema.pattern"]
    catalog = config["catalog.pattern"]
    if not catalog:
        return pattern
    if database.dialect == "mysql":  # JDBC calls its databases catalogs, SQLAlchemy calls them schemas
        return str(catalog)
    if not _expression(catalog).fullmatch(database.catalog):
        raise refused(
            "catalog.pattern",
            f"database {database.name} is one catalog, {database.catalog!r}, which the pattern does not match; leave "
            f"the pattern out, or name the database by connection.url",
        )
    return pattern


def _expression(pattern: str) -> re.Pattern[str]:
    """SQL's pattern of LIKE as a regular expression."""
    return re.compile("".join(_ANY.get(letter, re.escape(letter)) for letter in pattern))


def _listed(inspector: sa.Inspector, pattern: str | None, kinds: Sequence[str]) -> list[str]:
    if pattern is None:
        return sorted(_of_schema(inspector, None, kinds))
    expression = _expression(pattern)
    schemas = [one for one in inspector.get_schema_names() if expression.fullmatch(one)]
    return sorted(f"{schema}.{name}" for schema in schemas for name in _of_schema(inspector, schema, kinds))


def _of_schema(inspector: sa.Inspector, schema: str | None, kinds: Sequence[str]) -> Sequence[str]:
    ask = {
        "TABLE": inspector.get_table_names,
        "VIEW": inspector.get_view_names,
        "MATERIALIZED VIEW": inspector.get_materialized_view_names,
    }
    names = [name for kind in kinds if kind != "MATERIALIZED VIEW" for name in ask[kind](schema)]
    if "MATERIALIZED VIEW" in kinds and inspector.dialect.name == "postgresql":
        names += ask["MATERIALIZED VIEW"](schema)
    return names
