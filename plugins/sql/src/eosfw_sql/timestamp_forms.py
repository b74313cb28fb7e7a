"""Schemas and values of timestamps, as `timestamp.granularity` says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from eosfw.data import INT64, STRING, TIMESTAMP, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def timestamp_form(granularity: str, zone: tzinfo, naive: tzinfo) -> tuple[Schema, Callable[[datetime], Any]]:
    """The schema of timestamps, and what makes their values: in `zone`; those that the driver gives without are of
    `naive`.
    """

    def aware(value: datetime) -> datetime:
        return value if value.tzinfo is not None else value.replace(tzinfo=naive)

    if granularity == "connect_logical":
        return TIMESTAMP, aware
    unit, _, form = granularity.partition("_")
    if form == "iso_datetime_string":
        # Python has microseconds: the last three digits of nanoseconds are zeros.
        rest = "000" if unit == "nanos" else ""
        return (
            STRING,
            lambda value: aware(value).astimezone(zone).replace(tzinfo=None).isoformat(timespec="microseconds") + rest,
        )
    per_microsecond = 1000 if unit == "nanos" else 1

    def since_1970(value: datetime) -> int:
        return (aware(value) - _EPOCH) // _MICROSECOND * per_microsecond

    return (INT64, since_1970) if form == "long" else (STRING, lambda value: str(since_1970(value)))
