"""Read the rows of one table in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa

from eosfw.data import StructColumns
from eosfw.errors import DamagedDataError
from eosfw.records import SourceBatch
from eosfw_sql.modes.columns import position_of
from eosfw_sql.modes.late_row_check import LateRowCheck, late_row_check
from eosfw_sql.modes.offset_check import check_offset
from eosfw_sql.modes.restarted_numbers import RestartedNumbersCheck
from eosfw_sql.modes.rounds import RoundPosition
from eosfw_sql.modes.timestamp_column import NOW
from eosfw_sql.tables import SourceTable, source_partition, source_table, topic_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset
    from eosfw_sql.database import Cursor, Database
    from eosfw_sql.modes.positions import Position, Row


class TableReader(Protocol):
    """Reads one table behind its committed offset; it looks the table up when it is first asked for rows."""

    name: str
    idle: bool
    """Whether the last answer was the last one for now."""

    def take(self) -> SourceBatch | None:
        """The next rows; None if there are none at the moment."""

    def close(self) -> None:
        """Give back what the database holds for it."""


class _Target:
    """Where the rows of a table go, and how far they were read."""

    def __init__(self, name: str, config: Config, context: SourceTaskContext) -> None:
        self.partition = source_partition(config, name)
        self.offset = context.offset(self.partition)
        self._topic = topic_of(config, name)

    def batch(
        self, table: SourceTable, rows: Sequence[Row], offset: SourceOffset, offsets: list[SourceOffset] | None
    ) -> SourceBatch:
        return SourceBatch(
            topic=self._topic,
            values=_values(table, rows),
            value_schema=table.schema,
            source_partition=self.partition,
            source_offset=offset,
            source_offsets=offsets,
        )


class PageReader:
    """Reads the rows behind a position, `batch.max.rows` of them by each statement."""

    def __init__(
        self, database: Database, name: str, config: Config, context: SourceTaskContext, clock: Callable[[], float]
    ) -> None:
        self.name, self.idle = name, False
        self._database, self._config, self._context, self._clock = database, config, context, clock
        self._target = _Target(name, config, context)
        self._late: LateRowCheck | None = None
        self._restarted: RestartedNumbersCheck | None = None
        self._opened: tuple[SourceTable, Position] | None = None

    def take(self) -> SourceBatch | None:
        if self._opened is None:
            table, position = self._opened = self._open()
            if self._begins_now:
                # Without a row the time of the start would not be known to the next task.
                return self._target.batch(table, (), position.offset, [] if self._context.record_offsets else None)
        table, position = self._opened
        asked = position.statement(sa.select(*table.selected), self._config["batch.max.rows"])
        rows = position.unread(self._database.rows(_suffixed(asked, self._config)))
        self.idle = not rows
        if not rows:
            self._look_for_lost_rows(table, position)
            return None
        offsets = self._move(position, rows)
        if self._late is not None:
            self._late.were_read(rows)
        return self._target.batch(table, rows, position.offset, offsets)

    def close(self) -> None:
        """Nothing is held between two statements."""

    @property
    def _begins_now(self) -> bool:
        return (
            self._target.offset is None
            and "timestamp" in self._config["mode"]
            and self._config["timestamp.initial"] == NOW
        )

    def _open(self) -> tuple[SourceTable, Position]:
        table = source_table(self._database, self.name, self._config)
        dialect, offset = self._database.dialect, self._target.offset
        position = position_of(table, self._config, dialect, offset)
        self._late = late_row_check(table, self._config, dialect, self._clock, from_start=offset is None)
        if self._config["mode"] == "incrementing":
            self._restarted = RestartedNumbersCheck(table, self._config, self._clock)
        self._look_for_lost_rows(table, position)
        return table, position

    def _look_for_lost_rows(self, table: SourceTable, position: Position) -> None:
        if self._restarted is not None:
            self._restarted.look(self._database, position.offset, self._context)
        if self._late is not None:
            self._late.look(self._database, table, position.offset, self._context)

    def _move(self, position: Position, rows: Sequence[Row]) -> list[SourceOffset] | None:
        if not self._context.record_offsets:
            position.move(rows)
            return None
        offsets = []
        for row in rows:
            position.move([row])
            offsets.append(position.offset)
        return offsets


class RoundReader:
    """Reads a table in rounds, each by one statement whose rows the database gives out in batches."""

    def __init__(self, database: Database, name: str, config: Config, context: SourceTaskContext) -> None:
        self.name, self.idle = name, False
        self._database, self._config, self._context = database, config, context
        self._target = _Target(name, config, context)
        self._opened: tuple[SourceTable, RoundPosition] | None = None
        self._cursor: Cursor | None = None

    def take(self) -> SourceBatch | None:
        if self._opened is None:
            table = source_table(self._database, self.name, self._config)
            if self._target.offset is not None:
                check_offset(self._config["mode"], self._target.offset)
            self._opened = table, RoundPosition(table, self._target.offset)
        table, position = self._opened
        most = self._config["batch.max.rows"]
        if self._cursor is None:
            self._cursor = self._database.cursor(_suffixed(position.statement(), self._config), most + 1)
        rows, more = self._cursor.take(most)
        self.idle = not more
        offsets = self._move(position, rows, more=more)
        if not more:
            self.close()
        return self._target.batch(table, rows, position.offset, offsets) if rows else None

    def close(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _move(self, position: RoundPosition, rows: Sequence[Row], *, more: bool) -> list[SourceOffset] | None:
        offsets = []
        if self._context.record_offsets:
            for row in rows:
                position.move([row])
                offsets.append(position.offset)
        elif rows:
            position.move(rows)
        if not more:
            position.end_round()
            offsets[-1:] = [position.offset] if offsets else []
        return offsets if self._context.record_offsets else None


def table_reader(
    database: Database, name: str, config: Config, context: SourceTaskContext, clock: Callable[[], float]
) -> TableReader:
    """What reads a table in the mode of the properties."""
    if config["mode"] == "bulk":
        return RoundReader(database, name, config, context)
    return PageReader(database, name, config, context, clock)


def _suffixed(statement: sa.Select[Any], config: Config) -> sa.Select[Any]:
    suffix = config["query.suffix"]
    return statement.suffix_with(sa.literal_column(suffix)) if suffix else statement


def _values(table: SourceTable, rows: Sequence[Row]) -> StructColumns:
    columns: dict[str, list[Any]] = {}
    if not rows:
        return StructColumns({name: [] for name in table.schema.names}, 0)
    for name, kind, values in zip(table.schema.names, table.columns, zip(*rows, strict=True), strict=False):
        convert = kind.convert
        try:
            columns[name] = (
                list(values) if convert is None else [None if value is None else convert(value) for value in values]
            )
        except (ValueError, TypeError, AttributeError, ArithmeticError):  # whose text has the value
            raise DamagedDataError(
                f"column {name} of {table.title} has a value that is none of its type; correct the row, or read it by "
                f"a query that casts the column"
            ) from None
    return StructColumns(columns, len(rows))
