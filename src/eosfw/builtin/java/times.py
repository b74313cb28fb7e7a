"""Moments as `java.util.Date` holds them: milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from eosfw.builtin.java.simple_date_format import SimpleDateFormat
from eosfw.data.logical import days_of, millis_of_day, millis_since_1970, time_of_millis, timestamp_of_millis
from eosfw.errors import DataError

__all__ = ["MILLIS_PER_DAY", "date_of", "iso_text", "logical_number", "millis", "time_of", "timestamp_of"]

MILLIS_PER_DAY = 24 * 60 * 60 * 1000
_DATE, _TIME, _TIMESTAMP = map(SimpleDateFormat, ("yyyy-MM-dd", "HH:mm:ss.SSS'Z'", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"))


def millis(moment: date | time) -> int:
    """A Date, Time or Timestamp as Java holds it; a `datetime` without time zone is in UTC."""
    if isinstance(moment, datetime):
        return millis_since_1970(moment if moment.utcoffset() is not None else moment.replace(tzinfo=UTC))
    return millis_of_day(moment) if isinstance(moment, time) else days_of(moment) * MILLIS_PER_DAY


def logical_number(moment: date | time) -> int:
    """The number that stands for a Date, Time or Timestamp: days, milliseconds of the day, milliseconds since 1970."""
    if isinstance(moment, date) and not isinstance(moment, datetime):
        return days_of(moment)
    return millis(moment)


def iso_text(number: int) -> str:
    """A moment as `Values.dateFormatFor` writes it: a time if it is before 1970-01-02, a date if it is midnight."""
    if number < MILLIS_PER_DAY:
        return _TIME.format(number)
    return (_TIMESTAMP if number % MILLIS_PER_DAY else _DATE).format(number)


def timestamp_of(number: int) -> datetime:
    """The moment; DataError beyond the years 1 to 9999."""
    try:
        return timestamp_of_millis(number)
    except OverflowError:
        raise DataError("the timestamp lies beyond the years 1 to 9999") from None


def date_of(number: int) -> date:
    """The day of a moment, in UTC."""
    return timestamp_of(number).date()


def time_of(number: int) -> time:
    """The time of day of a moment, in UTC."""
    return time_of_millis(number % MILLIS_PER_DAY)
