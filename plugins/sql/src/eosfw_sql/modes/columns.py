"""The columns that a mode looks at, and whether they serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import types
from sqlalchemy.dialects import mysql

from eosfw_sql.errors import refused
from eosfw_sql.modes.offset_check import check_offset
from eosfw_sql.modes.positions import (
    IncrementingPosition,
    Position,
    TimestampIncrementingPosition,
    TimestampPosition,
)
from eosfw_sql.modes.timestamp_column import TimestampColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from eosfw.config import Config
    from eosfw.records import SourceOffset
    from eosfw_sql.tables import SourceTable

_INCREMENTING: Final = "incrementing.column.name"
_TIMESTAMP: Final = "timestamp.column.name"


def position_of(table: SourceTable, config: Config, dialect: str, offset: SourceOffset | None) -> Position:
    """The place at which to go on, in a mode other than bulk; ConfigError for columns that do not serve the mode."""
    mode = config["mode"]
    if offset is not None:
        check_offset(mode, offset)
    if mode == "incrementing":
        return IncrementingPosition(number_column(table, config), offset)
    timestamp = timestamp_column(table, config, dialect)
    if mode == "timestamp":
        return TimestampPosition(timestamp, table, offset)
    return TimestampIncrementingPosition(timestamp, number_column(table, config), offset)


def timestamp_column(table: SourceTable, config: Config, dialect: str) -> TimestampColumn:
    """The columns of a mode with timestamps; ConfigError for those that do not serve it."""
    columns = _timestamp_columns(table, config)
    return TimestampColumn(columns, ", ".join(config[_TIMESTAMP]), config, dialect)


def number_column(table: SourceTable, config: Config) -> sa.ColumnElement[Any]:
    """The column of a mode with numbers; ConfigError for one that does not serve it."""
    name = config[_INCREMENTING] or (table.key[0] if len(table.key) == 1 else "")
    if not name:
        raise refused(_INCREMENTING, f"{table.title} has no key of one column; name a unique column that grows")
    column = table.column(_INCREMENTING, name)
    whole = isinstance(column.type, types.Integer) or (isinstance(column.type, types.Numeric) and not column.type.scale)
    if not whole or isinstance(column.type, types.Float):
        raise refused(_INCREMENTING, f"column {name} of {table.title} is {column.type}; name a column of whole numbers")
    if table.declared and name not in table.unique:
        raise refused(
            _INCREMENTING,
            f"column {name} of {table.title} is not unique, so rows may be lost; give it a unique index",
        )
    _check_not_null(table, [name], _INCREMENTING, config)
    return column


def _timestamp_columns(table: SourceTable, config: Config) -> Sequence[sa.ColumnElement[Any]]:
    names = config[_TIMESTAMP]
    if not names:
        raise refused(_TIMESTAMP, f"mode {config['mode']} needs a column with the time of a row's last change; name it")
    columns = [table.column(_TIMESTAMP, name) for name in names]
    for name, column in zip(names, columns, strict=True):
        if not isinstance(column.type, types.DateTime):
            raise refused(
                _TIMESTAMP, f"column {name} of {table.title} is {column.type}; name a column of type TIMESTAMP"
            )
    moments = sum(isinstance(column.type, mysql.TIMESTAMP) for column in columns)
    if 0 < moments < len(columns) and config["db.timezone"].key != "UTC":
        what = "TIMESTAMP and DATETIME have other time zones where db.timezone is not UTC; name columns of one type"
        raise refused(_TIMESTAMP, f"columns {', '.join(names)} of {table.title}: {what}")
    _check_not_null(table, names, _TIMESTAMP, config)
    return columns


def _check_not_null(table: SourceTable, names: Sequence[str], property_name: str, config: Config) -> None:
    """Refuse columns of which all may be null. Of views and queries databases do not say it."""
    if table.declared and config["validate.non.null"] and {*names} <= table.nullable:
        which = f"column {names[0]}" if len(names) == 1 else f"each of the columns {', '.join(names)}"
        raise refused(
            property_name,
            f"{which} of {table.title} may be null, and rows without it are never read; declare it "
            f"NOT NULL, or set validate.non.null = false",
        )
