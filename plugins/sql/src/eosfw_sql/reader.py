"""Read the rows of one table in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from eosfw.data import StructColumns
from eosfw.records import SourceBatch
from eosfw_sql.columns_of_modes import position_of
from eosfw_sql.tables import SourceTable, source_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset, SourcePartition
    from eosfw_sql.database import Database
    from eosfw_sql.positions import Position, Row

_PROTOCOL = "1"


def source_partition(table: str) -> SourcePartition:
    """The source partition of a table, as in Confluent's JDBC source."""
    return {"protocol": _PROTOCOL, "table": table}


class TableReader:
    """Reads one table behind its committed offset; it looks the table up when it is first asked for rows."""

    def __init__(self, database: Database, name: str, config: Config, context: SourceTaskContext) -> None:
        self._database, self._name, self._config = database, name, config
        self._each = context.record_offsets
        self._partition = source_partition(name)
        self._offset = context.offset(self._partition)
        self._table: SourceTable | None = None
        self._position: Position | None = None

    def take(self) -> SourceBatch | None:
        """The next rows; None if there are none at the moment."""
        table, position = self._opened()
        asked = sa.select(*table.table.columns)
        rows = position.unread(self._database.rows(position.statement(asked, self._config["batch.max.rows"])))
        if not rows:
            return None
        offsets = self._move(position, rows)
        return SourceBatch(
            topic=self._config["topic.prefix"] + table.name,
            values=_values(table, rows),
            value_schema=table.schema,
            source_partition=self._partition,
            source_offset=position.offset,
            source_offsets=offsets,
        )

    def _opened(self) -> tuple[SourceTable, Position]:
        if self._table is None or self._position is None:
            self._table = source_table(self._database, self._name, self._config)
            self._position = position_of(self._table, self._config, self._database.dialect, self._offset)
        return self._table, self._position

    def _move(self, position: Position, rows: Sequence[Row]) -> list[SourceOffset] | None:
        if not self._each:
            position.move(rows)
            return None
        offsets = []
        for row in rows:
            position.move([row])
            offsets.append(position.offset)
        return offsets


def _values(table: SourceTable, rows: Sequence[Row]) -> StructColumns:
    columns: dict[str, list[Any]] = {}
    for name, kind, values in zip(table.schema.names, table.columns, zip(*rows, strict=True), strict=False):
        convert = kind.convert
        columns[name] = (
            list(values) if convert is None else [None if value is None else convert(value) for value in values]
        )
    return StructColumns(columns, len(rows))
