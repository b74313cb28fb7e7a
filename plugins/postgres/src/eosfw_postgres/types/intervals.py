"""The text of intervals in IntervalStyle postgres."""

from __future__ import annotations

import re
from decimal import Decimal

from eosfw.errors import DataError

__all__ = ["iso_interval", "micro_duration"]

_DAYS_PER_MONTH = 365.25 / 12
_INTERVAL = re.compile(
    r"(?:(?P<years>[+-]?\d+) years? ?)?(?:(?P<months>[+-]?\d+) mons? ?)?(?:(?P<days>[+-]?\d+) days? ?)?"
    r"(?:(?P<sign>[+-])?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d{1,6})?))?"
)
_LIMITS = {"infinity": (1 << 63) - 1, "-infinity": -1 << 63}


def micro_duration(text: str) -> int:
    """Microseconds, a month being a twelfth of 365.25 days; an infinite interval is the limit of 64 bits."""
    limit = _LIMITS.get(text)
    if limit is not None:
        return limit
    years, months, days, hours, minutes, seconds = _parts(text)
    in_days = (years * 12 + months) * _DAYS_PER_MONTH + days
    # In this order and in floating point, as Debezium computes it: another order rounds otherwise.
    return int((((in_days * 24 + hours) * 60 + minutes) * 60 + float(seconds)) * 1e6)


def iso_interval(text: str) -> str:
    """An interval as ISO 8601 writes it; an infinite one is its own text."""
    if text in _LIMITS:
        return text
    years, months, days, hours, minutes, seconds = _parts(text)
    shown = format(seconds.normalize(), "f") if seconds else "0"
    return f"P{years}Y{months}M{days}DT{hours}H{minutes}M{shown}S"


def _parts(text: str) -> tuple[int, int, int, int, int, Decimal]:
    found = _INTERVAL.fullmatch(text)
    if found is None:
        raise DataError("an interval has no text of IntervalStyle postgres")
    years, months, days, hours, minutes = (
        int(found[name] or 0) for name in ("years", "months", "days", "hours", "minutes")
    )
    seconds = Decimal(found["seconds"] or 0)
    if found["sign"] == "-":
        hours, minutes, seconds = -hours, -minutes, -seconds
    return years, months, days, hours, minutes, seconds
