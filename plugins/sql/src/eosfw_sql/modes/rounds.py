"""The rounds of mode bulk: each has all rows of a table, in an order in which a stopped round goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import types
from sqlalchemy.dialects import mysql

from eosfw.errors import DamagedDataError
from eosfw_sql.modes.positions import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.records import SourceOffset
    from eosfw_sql.modes.positions import Row
    from eosfw_sql.tables import SourceTable

_PLAIN_KEYS: Final = (types.Integer, types.String)
"""Types of keys whose values stand in an offset as they are."""
_NUMBERED: Final = (mysql.ENUM, mysql.SET)
"""Types of texts that MySQL sorts by their numbers, and compares as texts."""


class RoundPosition:
    """Behind so many rows of a round.

    If the key has numbers and texts alone, its last value says where the round goes on, whatever was deleted or
    inserted since. Else the number of rows says it, in the order of the key, or of all columns if there is none.
    """

    def __init__(self, table: SourceTable, offset: SourceOffset | None) -> None:
        self._table = table
        self._round, self._row = (0, 0) if offset is None else (whole(offset, "round"), whole(offset, "row"))
        self._plain = bool(table.key) and all(map(_is_plain, table.key_columns))
        names = list(table.table.columns.keys())
        self._places = [names.index(name) for name in table.key]
        self._after: Sequence[Any] | None = None if offset is None or not self._plain else _key(offset, table.key)

    def statement(self) -> sa.Select[Any]:
        """All rows of the round that are left."""
        asked = sa.select(*self._table.selected)
        key = self._table.key_columns
        if self._after is not None:
            return asked.where(_behind(key, self._after)).order_by(*key)
        asked = asked.order_by(*(key or map(_sortable, self._table.table.columns)))
        return asked.offset(self._row) if self._row else asked

    def move(self, rows: Sequence[Row]) -> None:
        """Go behind these rows."""
        self._row += len(rows)
        if self._plain:
            self._after = [rows[-1][place] for place in self._places]

    def end_round(self) -> None:
        """Begin the next round."""
        self._round, self._row, self._after = self._round + 1, 0, None

    @property
    def offset(self) -> SourceOffset:
        """The source offset of this place."""
        place: SourceOffset = {"round": self._round, "row": self._row}
        return place if self._after is None else {**place, "after": json.dumps(self._after)}


def _is_plain(column: sa.ColumnElement[Any]) -> bool:
    return isinstance(column.type, _PLAIN_KEYS) and not isinstance(column.type, _NUMBERED)


def _behind(key: Sequence[sa.ColumnElement[Any]], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Whether a row's key is larger, column by column: not every database compares tuples."""
    column, value = key[0], sa.literal(values[0], key[0].type)
    larger: sa.ColumnElement[bool] = column > value
    return larger if len(key) == 1 else sa.or_(larger, sa.and_(column == value, _behind(key[1:], values[1:])))


def _sortable(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    # PostgreSQL has no order of values of type json.
    return sa.cast(column, sa.Text) if isinstance(column.type, types.JSON) else column


def _key(offset: SourceOffset, key: Sequence[str]) -> Sequence[Any] | None:
    text = offset.get("after")
    if text is None:
        return None
    try:
        after = json.loads(str(text))
    except ValueError:
        after = None
    if not isinstance(after, list) or len(after) != len(key):
        raise DamagedDataError("the source offset has another key than the table: reset the connector's offsets")
    return [*after]
