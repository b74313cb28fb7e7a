"""When to look for late rows, and what is reported of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw_sql.modes.columns import number_column, timestamp_column
from eosfw_sql.modes.late_rows import LateNumbers, LateRows, LateTimestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset
    from eosfw_sql.database import Database
    from eosfw_sql.modes.positions import Row
    from eosfw_sql.tables import SourceTable

_ACTIVE_SECONDS = 60.0
"""How long after the last row of a table is looked for late ones.

A transaction that is open for longer is not noticed; and a table in which nothing happens must not cost a second
statement at each poll.
"""


class LateRowCheck:
    """Looks for late rows of a table after polls without rows, and once when the task begins."""

    def __init__(self, late: LateRows, clock: Callable[[], float]) -> None:
        self._late, self._clock = late, clock
        self._until = clock() + _ACTIVE_SECONDS
        self._over = False

    def were_read(self, rows: Sequence[Row]) -> None:
        """Remember rows of a position's statement."""
        self._until, self._over = self._clock() + _ACTIVE_SECONDS, False
        self._late.were_read(rows)

    def look(self, database: Database, table: SourceTable, offset: SourceOffset, context: SourceTaskContext) -> None:
        """Report late rows as a notice, unless nothing was read for long and one look came after that."""
        asked = self._late.statement(offset)
        if asked is None or self._over:
            return
        # The time is read before the rows: what is committed meanwhile is found by this look, or by another one.
        over = self._clock() >= self._until
        count = self._late.count(database.rows(asked))
        self._over = over
        if count:
            context.notice(
                "late rows",
                f"rows of {table.title} were committed, or changed, behind others that had been read: they are not in "
                f"Kafka; {self._late.remedy}",
                count,
            )


def late_row_check(
    table: SourceTable, config: Config, dialect: str, clock: Callable[[], float], *, from_start: bool
) -> LateRowCheck | None:
    """The check of a mode; None if the properties switch it off. `from_start`: no row was read before."""
    if config["mode"] == "incrementing":
        if not config["incrementing.late.check.numbers"]:
            return None
        return LateRowCheck(LateNumbers(number_column(table, config), config, from_start=from_start), clock)
    if not config["timestamp.late.check.ms"]:
        return None
    column = timestamp_column(table, config, dialect)
    whole = from_start and column.start is None
    number = number_column(table, config) if "incrementing" in config["mode"] else None
    return LateRowCheck(LateTimestamps(table, column, number, config, from_start=whole), clock)
