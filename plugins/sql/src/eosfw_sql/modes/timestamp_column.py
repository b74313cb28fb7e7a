"""The columns of the modes timestamp and timestamp+incrementing, with their times as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from eosfw.config import Config


_DATE: Final = len("2020-01-01")
NOW: Final = -1
"""`timestamp.initial` for the present."""


class TimestampColumn:
    """The first of some columns of timestamps that is not null.

    SQLite's timestamps are texts, and are compared as such; others have a type of their own.
    """

    def __init__(self, columns: Sequence[sa.ColumnElement[Any]], names: str, config: Config, dialect: str) -> None:
        self.name = names
        self._texts = dialect == "sqlite"
        self._moments = all(isinstance(column.type, mysql.TIMESTAMP) for column in columns)
        """Whether what the driver gives without a time zone is UTC."""
        self._zoned = self._moments or any(getattr(column.type, "timezone", False) for column in columns)
        self._zone: tzinfo = config["db.timezone"]
        self._delay = timedelta(milliseconds=config["timestamp.delay.interval.ms"])
        comparable = [sa.type_coerce(column, sa.String) if self._texts else column for column in columns]
        self.expression: sa.ColumnElement[Any] = (
            comparable[0] if len(comparable) == 1 else sa.func.coalesce(*comparable, type_=comparable[0].type)
        )
        self.start = self._start(config["timestamp.initial"])
        """The first time to read, as text; None for all."""

    def text(self, value: Any) -> str:
        """A value of the expression as it stands in an offset."""
        if isinstance(value, str):
            return value
        return _text(value.replace(tzinfo=UTC) if self._moments else value)

    def stored(self, text: str) -> str:
        """The text of an offset in the form of today."""
        moment = datetime.fromisoformat(text)
        return _text(moment.replace(tzinfo=self._zone)) if self._moments and moment.tzinfo is None else text

    def bound(self, text: str) -> Any:
        """What to compare the expression with."""
        if self._texts:
            return sa.literal(text)
        moment = datetime.fromisoformat(text)
        return sa.literal(moment.replace(tzinfo=None) if self._moments else moment, self.expression.type)

    def earlier(self, text: str, by: timedelta) -> str:
        """So much before a time, in the same form."""
        moment = datetime.fromisoformat(text) - by
        return moment.isoformat(sep=text[10]) if len(text) > _DATE else moment.isoformat()

    def before_now(self) -> sa.ColumnElement[bool]:
        """Whether a row has waited for the delay, by the worker's clock."""
        # A text with a T is behind each one of its day that has a space there, as the present has.
        time = sa.func.replace(self.expression, "T", " ") if self._texts else self.expression
        waited: sa.ColumnElement[bool] = time < self.bound(self._local(datetime.now(UTC) - self._delay))
        return waited

    def _start(self, millis: int | None) -> str | None:
        if millis is None:
            return None
        return self._local(datetime.now(UTC) if millis == NOW else datetime.fromtimestamp(millis / 1000, UTC))

    def _local(self, moment: datetime) -> str:
        """A moment as the column has it."""
        if self._zoned:
            return _text(moment)
        naive = moment.astimezone(self._zone).replace(tzinfo=None)
        return naive.isoformat(sep=" ") if self._texts else naive.isoformat()


def _text(value: datetime) -> str:
    """A timestamp as it stands in an offset, in UTC if it has a zone."""
    return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat()
