"""How far a table was read, for each mode: the statement for the rows behind, and the source offset.

Rows of a statement have the columns of the table, behind them the values that a position looks at.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import sqlalchemy as sa

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from eosfw.records import SourceOffset
    from eosfw_sql.modes.timestamp_column import TimestampColumn
    from eosfw_sql.tables import SourceTable

_DIGEST_BYTES: Final = 12
MAX_TIES: Final = 40_000
"""Rows that share a timestamp in mode timestamp: their hashes stand in the offset, and Kafka takes 1 MiB."""
_RAW: Final = sa.types.NullType()
"""Numbers as the driver gives them: SQLAlchemy makes a float of some, which is another number if it is large."""

Row: TypeAlias = Sequence[Any]
"""The values of a row."""


class Position(Protocol):
    """A place in a table."""

    def statement(self, table: sa.Select[Any], limit: int) -> sa.Select[Any]:
        """The next rows, `limit` new ones at most."""

    def unread(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows without those that were read before."""

    def move(self, rows: Sequence[Row]) -> None:
        """Go behind these rows."""

    @property
    def offset(self) -> SourceOffset:
        """The source offset of this place."""


class IncrementingPosition:
    """Behind the largest number of a column that is unique."""

    def __init__(self, column: sa.ColumnElement[Any], offset: SourceOffset | None) -> None:
        self._column = column
        self._last: int | None = None if offset is None else number_of(offset)

    def statement(self, table: sa.Select[Any], limit: int) -> sa.Select[Any]:
        asked = table.add_columns(sa.type_coerce(self._column, _RAW).label("eosfw_incrementing"))
        behind = self._column.is_not(None) if self._last is None else self._column > self._last
        return asked.where(behind).order_by(self._column).limit(limit)

    def unread(self, rows: Sequence[Row]) -> Sequence[Row]:
        return rows

    def move(self, rows: Sequence[Row]) -> None:
        self._last = _whole_number(rows[-1][-1], self._column)

    @property
    def offset(self) -> SourceOffset:
        return {"incrementing": self._last}


class TimestampIncrementingPosition:
    """Behind the latest timestamp and, of the rows that have it, behind the largest number."""

    def __init__(self, timestamp: TimestampColumn, number: sa.ColumnElement[Any], offset: SourceOffset | None) -> None:
        self._timestamp, self._number = timestamp, number
        self._time = timestamp.start if offset is None else timestamp.stored(time_of(offset))
        self._last: int | None = None if offset is None else number_of(offset)

    def statement(self, table: sa.Select[Any], limit: int) -> sa.Select[Any]:
        time, number = self._timestamp.expression, self._number
        raw = sa.type_coerce(number, _RAW).label("eosfw_incrementing")
        asked = table.add_columns(time.label("eosfw_timestamp"), raw)
        asked = asked.where(self._timestamp.before_now(), number.is_not(None))
        if self._time is not None:
            here = self._timestamp.bound(self._time)
            tied = time == here if self._last is None else sa.and_(time == here, number > self._last)
            asked = asked.where(sa.or_(time > here, tied))
        return asked.order_by(time, number).limit(limit)

    def unread(self, rows: Sequence[Row]) -> Sequence[Row]:
        return rows

    def move(self, rows: Sequence[Row]) -> None:
        self._time, self._last = self._timestamp.text(rows[-1][-2]), _whole_number(rows[-1][-1], self._number)

    @property
    def offset(self) -> SourceOffset:
        return {"timestamp": self._time, "incrementing": self._last}


class TimestampPosition:
    """Behind the latest timestamp; the hashes of the rows that have it say which of them were read.

    The offset names the columns that these hashes are of: one that was added since is left out until another timestamp
    is the latest one, or the rows would seem to be others.
    """

    def __init__(self, timestamp: TimestampColumn, table: SourceTable, offset: SourceOffset | None) -> None:
        self._timestamp, self._key = timestamp, table.key_columns
        self._names: Sequence[str] = list(table.table.columns.keys())
        self._hashed = self._names if offset is None else hashed_columns(offset) or self._names
        if gone := [name for name in self._hashed if name not in self._names]:
            raise DamagedDataError(
                f"{table.title} has no column {gone[0]} any more, by which the source offset tells the rows of the "
                f"latest timestamp that were read: alter the offset to its timestamp alone, and they come once more"
            )
        self._time = timestamp.start if offset is None else timestamp.stored(time_of(offset))
        self._tied = digests(offset) if offset is not None else Counter[bytes]()

    def statement(self, table: sa.Select[Any], limit: int) -> sa.Select[Any]:
        time = self._timestamp.expression
        asked = table.add_columns(time.label("eosfw_timestamp")).where(self._timestamp.before_now())
        if self._time is not None:
            asked = asked.where(time >= self._timestamp.bound(self._time))
        # Of the rows with this timestamp as many as are known may come first, and are none of the new ones.
        return asked.order_by(time, *self._key).limit(limit + self._tied.total())

    def unread(self, rows: Sequence[Row]) -> Sequence[Row]:
        known, found = self._tied.copy(), []
        for row in rows:
            if self._timestamp.text(row[-1]) == self._time and known[digest := self._digest(row)] > 0:
                known[digest] -= 1
            else:
                found.append(row)
        return found

    def move(self, rows: Sequence[Row]) -> None:
        latest = self._timestamp.text(rows[-1][-1])
        if latest != self._time:
            self._time, self._tied, self._hashed = latest, Counter(), self._names
        self._tied.update(self._digest(row) for row in rows if self._timestamp.text(row[-1]) == latest)
        if self._tied.total() > MAX_TIES:
            raise DamagedDataError(
                f"more than {MAX_TIES} rows share one timestamp in column {self._timestamp.name}: read the table with "
                f"mode = timestamp+incrementing"
            )

    @property
    def offset(self) -> SourceOffset:
        tied = b"".join(sorted(self._tied.elements()))
        return {"timestamp": self._time, "rows": b64encode(tied).decode(), "columns": json.dumps(self._hashed)}

    def _digest(self, row: Row) -> bytes:
        if self._hashed == self._names:
            return digest_of(row)
        return digest_of([*(row[self._names.index(name)] for name in self._hashed), row[-1]])


def digest_of(row: Row) -> bytes:
    """What tells a row from others in every process."""
    return blake2b(repr(list(map(_plain, row))).encode(), digest_size=_DIGEST_BYTES).digest()


def _plain(value: Any) -> Any:
    """A value whose text is the same in every process and session."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, set):
        return sorted(value)
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value


def _whole_number(value: Any, column: sa.ColumnElement[Any]) -> int:
    """The number of a row as it stands in an offset; DamagedDataError if it is not whole: it would come again."""
    with suppress(TypeError, ValueError, OverflowError):
        if (number := int(value)) == value:
            return number
    raise DamagedDataError(
        f"column {column.key} has a value that is no whole number, behind which no offset can stand; correct the row, "
        f"or name another column by incrementing.column.name"
    )


def number_of(offset: SourceOffset) -> int | None:
    """The largest number that was read; None if there is none yet."""
    return None if offset.get("incrementing") is None else whole(offset, "incrementing")


def whole(offset: SourceOffset, entry: str) -> int:
    """A whole number of an offset; DamagedDataError if it has none."""
    value = offset.get(entry)
    if isinstance(value, bool) or not isinstance(value, int):
        raise DamagedDataError(f"the source offset has no whole number {entry!r}: reset the connector's offsets")
    return value


def time_of(offset: SourceOffset) -> str:
    """The latest timestamp that was read."""
    value = offset.get("timestamp")
    with suppress(TypeError, ValueError):
        datetime.fromisoformat(value)  # type: ignore[arg-type] # it says itself if it is no text
        return str(value)
    raise DamagedDataError("the source offset has no 'timestamp': reset the connector's offsets")


def digests(offset: SourceOffset) -> Counter[bytes]:
    """The hashes of the rows with the latest timestamp that were read."""
    try:
        packed = b64decode(str(offset.get("rows", "")), validate=True)
    except ValueError:
        raise DamagedDataError("the source offset has no hashes at 'rows': reset the connector's offsets") from None
    return Counter(packed[at : at + _DIGEST_BYTES] for at in range(0, len(packed), _DIGEST_BYTES))


def hashed_columns(offset: SourceOffset) -> Sequence[str]:
    """The names of the columns that these hashes are of; none in an offset of a release that did not note them."""
    try:
        names = json.loads(str(offset.get("columns", "[]")))
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DamagedDataError("the source offset has no names at 'columns': reset the connector's offsets")
    return names
