"""Find rows that were committed behind a position, so that no poll reads them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

import sqlalchemy as sa

from eosfw_sql.modes.positions import digest_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from eosfw.config import Config
    from eosfw.records import SourceOffset
    from eosfw_sql.modes.positions import Row
    from eosfw_sql.modes.timestamp_column import TimestampColumn
    from eosfw_sql.tables import SourceTable

_MOST: Final = 100_000
"""Rows that are remembered between two looks; a backlog of more begins anew, since it would take memory."""


class LateRows(Protocol):
    """Compares what stands a short way before a position with what was read of it."""

    remedy: str

    def were_read(self, rows: Sequence[Row]) -> None:
        """Remember rows of a position's statement."""

    def statement(self, offset: SourceOffset) -> sa.Select[Any] | None:
        """The rows a short way before an offset, and at it; None if it has none yet."""

    def count(self, rows: Sequence[Row]) -> int:
        """How many of these rows were not read; they count once."""


class LateTimestamps:
    """Rows whose timestamp lies before the latest one that was read.

    A row is known by its timestamp and its number, or by its hash where there is no number, which takes longer to make
    than the row takes to be read.
    """

    remedy = "set timestamp.delay.interval.ms above the time that transactions take"

    def __init__(
        self,
        table: SourceTable,
        column: TimestampColumn,
        number: sa.ColumnElement[Any] | None,
        config: Config,
        *,
        from_start: bool,
    ) -> None:
        self._column = column
        self._width = len(table.columns)
        self._by_number = number is not None
        self._asked = [*table.selected] if number is None else [column.expression, number]
        self._look_back = timedelta(milliseconds=config["timestamp.late.check.ms"])
        # What other tasks have read is unknown: what stands there when this one begins counts as read.
        self._known: Counter[Hashable] | None = Counter() if from_start else None

    def were_read(self, rows: Sequence[Row]) -> None:
        if self._known is not None:
            # Behind the table's columns are the values that positions look at.
            looked_at = [row[self._width :] if self._by_number else row[: self._width] for row in rows]
            self._known.update(self._identities(looked_at))
            if self._known.total() > _MOST:
                self._known = None

    def statement(self, offset: SourceOffset) -> sa.Select[Any] | None:
        latest = offset.get("timestamp")
        if not isinstance(latest, str):
            return None
        time = self._column.expression
        first = self._column.bound(self._column.earlier(latest, self._look_back))
        last = self._column.bound(latest)
        asked = sa.select(*self._asked, (time < last).label("eosfw_behind"))
        return asked.where(sa.and_(time >= first, time <= last))

    def count(self, rows: Sequence[Row]) -> int:
        behind = Counter(self._identities([row[:-1] for row in rows if row[-1]]))
        late = 0 if self._known is None else (behind - self._known).total()
        # Rows of the latest timestamp will be behind it. Those that nobody has read yet are read by the next poll.
        self._known = behind + Counter(self._identities([row[:-1] for row in rows if not row[-1]]))
        return late

    def _identities(self, rows: Sequence[Row]) -> Iterable[Hashable]:
        return map(tuple, rows) if self._by_number else map(digest_of, rows)


class LateNumbers:
    """Rows whose number is smaller than the largest one that was read."""

    remedy = "read the table with mode = timestamp+incrementing and timestamp.delay.interval.ms"

    def __init__(self, number: sa.ColumnElement[Any], config: Config, *, from_start: bool) -> None:
        self._number = number
        self._look_back: int = config["incrementing.late.check.numbers"]
        self._known: set[int] | None = set() if from_start else None

    def were_read(self, rows: Sequence[Row]) -> None:
        if self._known is not None:
            self._known.update(int(row[-1]) for row in rows)
            if len(self._known) > _MOST:
                first = int(rows[-1][-1]) - self._look_back
                self._known = {number for number in self._known if number > first}

    def statement(self, offset: SourceOffset) -> sa.Select[Any] | None:
        last = offset.get("incrementing")
        if not isinstance(last, int):
            return None
        return sa.select(self._number).where(self._number > last - self._look_back, self._number <= last)

    def count(self, rows: Sequence[Row]) -> int:
        found = {int(row[0]) for row in rows}
        late = 0 if self._known is None else len(found - self._known)
        self._known = found
        return late
