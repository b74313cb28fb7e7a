"""Kafka Connect's logical types: Decimal, Date, Time, Timestamp, with the values that Python has for them.

| schema | in Python | as Connect keeps it |
|---|---|---|
| `decimal(scale)` | `decimal.Decimal` with at most so many digits behind the point | unscaled number, BYTES |
| `DATE` | `datetime.date` | days since 1970, INT32 |
| `TIME` | `datetime.time` without time zone | milliseconds since midnight, INT32 |
| `TIMESTAMP` | `datetime.datetime` with a time zone | milliseconds since 1970, INT64 |

Time and Timestamp count milliseconds: what is below one is cut off.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from eosfw.data.schema import Schema, Type
from eosfw.errors import DataError

__all__ = [
    "DATE",
    "DECIMAL_NAME",
    "LOGICAL_NAMES",
    "TIME",
    "TIMESTAMP",
    "days_of",
    "decimal",
    "decimal_bytes",
    "decimal_of",
    "decimal_scale",
    "millis_of_day",
    "millis_since_1970",
    "time_of_millis",
    "timestamp_of_millis",
]

_PACKAGE = "org.apache.kafka.connect.data."
DECIMAL_NAME = f"{_PACKAGE}Decimal"
DATE = Schema(Type.INT32, name=f"{_PACKAGE}Date", version=1)
TIME = Schema(Type.INT32, name=f"{_PACKAGE}Time", version=1)
TIMESTAMP = Schema(Type.INT64, name=f"{_PACKAGE}Timestamp", version=1)
LOGICAL_NAMES = frozenset((DECIMAL_NAME, DATE.name, TIME.name, TIMESTAMP.name))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_SCALE = "scale"
_MILLI = timedelta(milliseconds=1)


def decimal(scale: int) -> Schema:
    """The schema of decimal numbers with so many digits behind the point."""
    return Schema(Type.BYTES, name=DECIMAL_NAME, version=1, parameters={_SCALE: str(scale)})


def decimal_scale(schema: Schema) -> int:
    """The digits behind the point that the schema of a Decimal names; DataError if it names none."""
    text = schema.parameters.get(_SCALE)
    if text is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(text)
    except ValueError:
        raise DataError("Invalid scale parameter found in Decimal schema: it is no whole number") from None


def decimal_bytes(number: Decimal, scale: int) -> bytes:
    """The unscaled number as the shortest big-endian two's complement, as Java's `BigInteger.toByteArray`.

    The number has exactly `scale` digits behind the point, as `fitted` leaves it, or fewer.
    """
    sign, digits, exponent = number.as_tuple()
    # By its digits: arithmetic would round to the digits of the context.
    unscaled = int("".join(map(str, digits)) + "0" * (int(exponent) + scale))
    unscaled = -unscaled if sign else unscaled
    return unscaled.to_bytes(_width(unscaled), "big", signed=True)


def decimal_of(data: bytes, scale: int) -> Decimal:
    """The number of which `decimal_bytes` made these bytes."""
    unscaled = int.from_bytes(data, "big", signed=True)
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def days_of(day: date) -> int:
    """Days since 1970."""
    return (day - _FIRST_DAY).days


def millis_of_day(moment: time) -> int:
    """Milliseconds since midnight."""
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return seconds * 1000 + moment.microsecond // 1000


def millis_since_1970(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return (moment - _EPOCH) // _MILLI


def time_of_millis(millis: int) -> time:
    """The time of day so many milliseconds after midnight."""
    return (_EPOCH + timedelta(milliseconds=millis)).time()


def timestamp_of_millis(millis: int) -> datetime:
    """The moment so many milliseconds after 1970, in UTC."""
    return _EPOCH + timedelta(milliseconds=millis)


def _width(number: int) -> int:
    """Bytes of a number with its sign."""
    bits = number.bit_length() if number >= 0 else (number + 1).bit_length()
    return bits // 8 + 1
