"""Dates and times of day, counted and as texts of ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from eosfw.data import DATE, TIME, TIMESTAMP, Schema, Type, time_of_millis, timestamp_of_millis
from eosfw.errors import DataError
from eosfw_postgres.types.schemas import ISO_DATE, ISO_TIME, ISO_TIMESTAMP, time_type

__all__ = ["date_column", "time_column", "timestamp_column", "zoned_time", "zoned_timestamp"]

Parser = Callable[[str], Any]

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DAY = 86_400_000_000
_CYCLE = 146_097
"""Days of 400 years, after which the calendar repeats."""
_MOMENT = re.compile(
    r"(?P<year>\d{4,})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[ T](?P<time>\d\d:\d\d:\d\d(?:\.\d{1,6})?)(?P<offset>[+-]\d\d(?::\d\d){0,2})?)?(?P<era> BC)?"
)
# What Debezium's connector writes for infinity in its stream: the limits of Java's and the driver's types.
_INFINITE_DAYS = {"infinity": -2_147_472_692, "-infinity": -2_147_472_691}
_INFINITE_MICROS = {"infinity": 9_223_372_036_825_200_000, "-infinity": -9_223_372_036_832_400_000}
_INFINITE_DATES = {"infinity": "-5877611-06-21Z", "-infinity": "-5877611-06-22Z"}


def date_column(mode: str) -> tuple[Schema, Parser]:
    """Schema and parser of date."""
    if mode == "connect":
        return DATE, _connect_date
    if mode == "isostring":
        return ISO_DATE, _iso_date
    return time_type(Type.INT32, "Date"), days


def time_column(mode: str, precision: int) -> tuple[Schema, Parser]:
    """Schema and parser of time with so many digits behind the seconds."""
    if mode == "connect":
        return TIME, _connect_time
    if mode == "isostring":
        return ISO_TIME, lambda text: f"{_trimmed(text)}Z" if text != "24:00:00" else "00:00:00Z"
    if mode == "nanoseconds":
        return time_type(Type.INT64, "NanoTime"), lambda text: micros_of_day(text) * 1000
    if mode == "adaptive" and precision <= 3:
        return time_type(Type.INT32, "Time"), lambda text: micros_of_day(text) // 1000
    return time_type(Type.INT64, "MicroTime"), micros_of_day


def timestamp_column(mode: str, precision: int) -> tuple[Schema, Parser]:
    """Schema and parser of timestamp with so many digits behind the seconds."""
    if mode == "connect":
        return TIMESTAMP, _connect_timestamp
    if mode == "isostring":
        return ISO_TIMESTAMP, lambda text: _iso_moment(micros(text), None)
    if mode == "nanoseconds":
        return time_type(Type.INT64, "NanoTimestamp"), lambda text: _as_long(micros(text) * 1000)
    if mode != "microseconds" and precision <= 3:
        return time_type(Type.INT64, "Timestamp"), lambda text: micros(text) // 1000
    return time_type(Type.INT64, "MicroTimestamp"), micros


def zoned_timestamp(precision: int) -> Parser:
    """What makes of timestamptz a text in UTC with so many digits behind the seconds, none being trimmed."""
    point = 20 + precision

    def parse(text: str) -> str:
        if text[-3:] == "+00" and text[4] == "-" and text[10] == " ":
            moment = text[:-3]
            if precision:
                moment = moment + "0" * (point - len(moment)) if len(moment) > 19 else f"{moment}.{'0' * precision}"
            return f"{moment[:10]}T{moment[11:]}Z"
        if text in _INFINITE_MICROS:
            return text
        return _iso_moment(micros(text), precision)

    return parse


def zoned_time(text: str) -> str:
    """A timetz as text in UTC."""
    sign = max(text.rfind("+"), text.rfind("-"))
    moment = (micros_of_day(text[:sign]) - _offset(text[sign:])) % _DAY
    return f"{_clock(moment, None)}Z"


def days(text: str) -> int:
    """Days since 1970."""
    if len(text) == 10:
        return date.fromisoformat(text).toordinal() - _EPOCH_DAY
    infinite = _INFINITE_DAYS.get(text)
    return _parsed(text)[0] if infinite is None else infinite


def micros_of_day(text: str) -> int:
    """Microseconds since midnight."""
    whole = (int(text[:2]) * 60 + int(text[3:5])) * 60 + int(text[6:8])
    return whole * 1_000_000 + (int(text[9:].ljust(6, "0")) if len(text) > 8 else 0)


def micros(text: str) -> int:
    """Microseconds since 1970."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # infinite, before Christ, or beyond 9999
        infinite = _INFINITE_MICROS.get(text)
        if infinite is not None:
            return infinite
    else:
        if moment.tzinfo is None:
            seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
            return ((moment.toordinal() - _EPOCH_DAY) * 86_400 + seconds) * 1_000_000 + moment.microsecond
    day, moment_of_day = _parsed(text)
    return day * _DAY + moment_of_day


def _parsed(text: str) -> tuple[int, int]:
    """Days since 1970, and microseconds of that day in UTC, which an offset may move out of it."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise DataError("a date or time has no text of DateStyle ISO")
    year = 1 - int(found["year"]) if found["era"] else int(found["year"])
    day = _days_of(year, int(found["month"]), int(found["day"]))
    moment = micros_of_day(found["time"]) if found["time"] else 0
    return day, moment - (_offset(found["offset"]) if found["offset"] else 0)


def _offset(text: str) -> int:
    """The microseconds of an offset such as +05:30."""
    hours, *rest = text[1:].split(":")
    seconds = int(hours) * 3600 + sum(int(one) * unit for one, unit in zip(rest, (60, 1), strict=False))
    return (-seconds if text[0] == "-" else seconds) * 1_000_000


def _days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of any year, by one of the 400 years after which the calendar repeats."""
    cycles, place = divmod(year - 2000, 400)
    return date(2000 + place, month, day).toordinal() - _EPOCH_DAY + cycles * _CYCLE


def _iso_date(text: str) -> str:
    return _INFINITE_DATES.get(text) or f"{_calendar(days(text))}Z"


def _calendar(day: int) -> str:
    """A day since 1970 as Java's ISO 8601 writes it: a year beyond 9999 has a sign."""
    cycles, place = divmod(day + _EPOCH_DAY - date(2000, 1, 1).toordinal(), _CYCLE)
    within = date.fromordinal(date(2000, 1, 1).toordinal() + place)
    year = within.year + cycles * 400
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{within.month:02d}-{within.day:02d}"


def _iso_moment(moment: int, precision: int | None) -> str:
    day, rest = divmod(moment, _DAY)
    return f"{_calendar(day)}T{_clock(rest, precision)}Z"


def _clock(moment: int, precision: int | None) -> str:
    """A time of day with so many digits behind the seconds, or with those that are needed."""
    seconds, fraction = divmod(moment, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{hour:02d}:{minute:02d}:{second:02d}"
    digits = f"{fraction:06d}"
    digits = digits.rstrip("0") if precision is None else digits[:precision]
    return f"{text}.{digits}" if digits else text


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _as_long(number: int) -> int:
    """The number as Java's long overflows: nanoseconds reach from 1677 to 2262."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _connect_date(text: str) -> date:
    if len(text) == 10:
        return date.fromisoformat(text)
    raise _beyond(text)


def _connect_time(text: str) -> time:
    if text == "24:00:00":
        raise _beyond(text)
    return time_of_millis(micros_of_day(text) // 1000)


def _connect_timestamp(text: str) -> datetime:
    if text in _INFINITE_MICROS or text[4] != "-" or text[-1] == "C":
        raise _beyond(text)
    return timestamp_of_millis(micros(text) // 1000)


def _beyond(text: str) -> DataError:
    what = "is infinite" if text in _INFINITE_MICROS else "is beyond the years 1 to 9999, or 24:00"
    return DataError(f"a date or time {what}: with time.precision.mode=connect it has no value; choose adaptive")
