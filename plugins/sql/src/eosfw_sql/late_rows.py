"""Find rows that were committed behind a position, so that no poll reads them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from eosfw_sql.positions import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.config import Config
    from eosfw_sql.positions import Row
    from eosfw_sql.timestamp_column import TimestampColumn

_MOST: Final = 100_000
"""Rows that are remembered between two looks; a backlog of more begins anew, since it would take memory."""


class LateRows:
    """Compares what stands before the latest timestamp that was read with what was read of it."""

    def __init__(self, column: TimestampColumn, config: Config, *, from_start: bool) -> None:
        self._column = column
        self._look_back = timedelta(milliseconds=config["timestamp.late.check.ms"])
        # What other tasks have read is unknown: what stands there when this one begins counts as read.
        self._known: Counter[bytes] | None = Counter() if from_start else None

    def were_read(self, rows: Sequence[Row]) -> None:
        """Remember rows, without the values that positions look at."""
        if self._known is not None:
            self._known.update(map(digest_of, rows))
            if self._known.total() > _MOST:
                self._known = None

    def statement(self, table: sa.Select[Any], latest: str) -> sa.Select[Any]:
        """The rows a short time before the latest timestamp."""
        time = self._column.expression
        first = self._column.bound(self._column.earlier(latest, self._look_back))
        return table.where(sa.and_(time >= first, time < self._column.bound(latest)))

    def count(self, rows: Sequence[Row]) -> int:
        """How many of these rows were not read; they count once."""
        found = Counter(map(digest_of, rows))
        late = 0 if self._known is None else (found - self._known).total()
        self._known = found
        return late
