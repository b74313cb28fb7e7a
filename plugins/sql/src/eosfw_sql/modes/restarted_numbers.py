"""Find that the numbers of a table began again, as after TRUNCATE: rows with smaller ones are read by no poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from eosfw_sql.modes.columns import number_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset
    from eosfw_sql.database import Database
    from eosfw_sql.tables import SourceTable

_PAUSE_SECONDS = 60.0
"""Between two looks, each of which is a statement: an idle table must not cost twice as many."""


class RestartedNumbersCheck:
    """Compares the largest number of a table with the one that was read, at the start of a task and while it idles."""

    def __init__(self, table: SourceTable, config: Config, clock: Callable[[], float]) -> None:
        self._number = number_column(table, config)
        self._title, self._clock = table.title, clock
        self._next = float("-inf")
        self._was_reported = False

    def look(self, database: Database, offset: SourceOffset, context: SourceTaskContext) -> None:
        """Report a table whose rows all have numbers below the offset, until one is read again."""
        last = offset.get("incrementing")
        if not isinstance(last, int) or self._clock() < self._next:
            return
        self._next = self._clock() + _PAUSE_SECONDS
        largest = sa.func.max(self._number)
        below = database.rows(sa.select(largest).having(largest < last))
        if below and not self._was_reported:
            context.notice(
                "restarted numbers",
                f"the largest {self._number.key} of {self._title} is {below[0][0]}, but rows up to {last} were read: "
                f"if its numbers began again, as after TRUNCATE or from a backup, rows up to {last} are not read; stop "
                f"the connector and reset its offsets. If only the last rows were deleted, all is well",
            )
        self._was_reported = bool(below)
