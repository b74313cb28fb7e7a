"""Read the rows of one table in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from eosfw.data import StructColumns
from eosfw.records import SourceBatch
from eosfw_sql.columns_of_modes import position_of, timestamp_column
from eosfw_sql.late_rows import LateRows
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
        self._context = context
        self._late: LateRows | None = None
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
            self._report_late_rows(table, position)
            return None
        if self._late is not None:
            self._late.were_read([row[: len(table.columns)] for row in rows])
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
            if "timestamp" in self._config["mode"] and self._config["timestamp.late.check.ms"]:
                column = timestamp_column(self._table, self._config, self._database.dialect)
                whole = self._offset is None and column.start is None
                self._late = LateRows(column, self._config, from_start=whole)
                self._report_late_rows(self._table, self._position)
        return self._table, self._position

    def _report_late_rows(self, table: SourceTable, position: Position) -> None:
        latest = position.offset.get("timestamp")
        if self._late is None or not isinstance(latest, str):
            return
        asked = self._late.statement(sa.select(*table.table.columns), latest)
        if count := self._late.count(self._database.rows(asked)):
            self._context.notice(
                "late rows",
                f"rows of table {table.name} were committed, or changed, with a timestamp before others that had been "
                f"read: they are not in Kafka; set timestamp.delay.interval.ms above the time that transactions take",
                count,
            )

    def _move(self, position: Position, rows: Sequence[Row]) -> list[SourceOffset] | None:
        if not self._context.record_offsets:
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
