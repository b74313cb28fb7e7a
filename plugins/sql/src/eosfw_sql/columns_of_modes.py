"""The columns that a mode looks at, and whether they serve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import types

from eosfw_sql.errors import refused
from eosfw_sql.positions import (
    BulkPosition,
    IncrementingPosition,
    Position,
    TimestampIncrementingPosition,
    TimestampPosition,
)
from eosfw_sql.timestamp_column import TimestampColumn

if TYPE_CHECKING:
    import sqlalchemy as sa

    from eosfw.config import Config
    from eosfw.records import SourceOffset
    from eosfw_sql.tables import SourceTable

_INCREMENTING: Final = "incrementing.column.name"
_TIMESTAMP: Final = "timestamp.column.name"


def position_of(table: SourceTable, config: Config, dialect: str, offset: SourceOffset | None) -> Position:
    """The place at which to go on; ConfigError for columns that do not serve the mode."""
    mode = config["mode"]
    key = [table.table.columns[name] for name in table.key]
    if mode == "bulk":
        return BulkPosition(key, offset)
    if mode == "incrementing":
        return IncrementingPosition(_number_column(table, config), offset)
    timestamp = timestamp_column(table, config, dialect)
    if mode == "timestamp":
        return TimestampPosition(timestamp, key, offset)
    return TimestampIncrementingPosition(timestamp, _number_column(table, config), offset)


def timestamp_column(table: SourceTable, config: Config, dialect: str) -> TimestampColumn:
    """The column of a mode with timestamps; ConfigError for one that does not serve it."""
    return TimestampColumn(_timestamp_column(table, config), config, dialect)


def _number_column(table: SourceTable, config: Config) -> sa.Column[Any]:
    name = config[_INCREMENTING] or (table.key[0] if len(table.key) == 1 else "")
    if not name:
        raise refused(_INCREMENTING, f"table {table.name} has no key of one column; name a unique column that grows")
    column = table.column(_INCREMENTING, name)
    whole = isinstance(column.type, types.Integer) or (isinstance(column.type, types.Numeric) and not column.type.scale)
    if not whole or isinstance(column.type, types.Float):
        raise refused(
            _INCREMENTING, f"column {name} of table {table.name} is {column.type}; name a column of whole numbers"
        )
    if name not in table.unique:
        raise refused(
            _INCREMENTING,
            f"column {name} of table {table.name} is not unique, so rows may be lost; give it a unique index",
        )
    return _checked(table, column, _INCREMENTING, config)


def _timestamp_column(table: SourceTable, config: Config) -> sa.Column[Any]:
    name = config[_TIMESTAMP]
    if not name:
        raise refused(_TIMESTAMP, f"mode {config['mode']} needs a column with the time of a row's last change; name it")
    column = table.column(_TIMESTAMP, name)
    if not isinstance(column.type, types.DateTime):
        raise refused(
            _TIMESTAMP, f"column {name} of table {table.name} is {column.type}; name a column of type TIMESTAMP"
        )
    return _checked(table, column, _TIMESTAMP, config)


def _checked(table: SourceTable, column: sa.Column[Any], property_name: str, config: Config) -> sa.Column[Any]:
    if column.nullable and column.name not in table.key and config["validate.non.null"]:
        raise refused(
            property_name,
            f"column {column.name} of table {table.name} may be null, and rows without it are never read; declare it "
            f"NOT NULL, or set validate.non.null = false",
        )
    return column
