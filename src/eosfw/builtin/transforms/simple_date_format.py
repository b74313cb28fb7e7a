"""Times written by a pattern of Java's `SimpleDateFormat`, in UTC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Field = Callable[[datetime], str]


def parse_pattern(pattern: str) -> Sequence[Field]:
    """The fields of a pattern; ValueError for a letter that is none, or that is not supported."""
    fields: list[Field] = []
    quoted = False
    pieces = pattern.replace("''", "\0").split("'")
    if len(pieces) % 2 == 0:
        raise ValueError("Unterminated quote")
    for piece in pieces:
        fields += [_constant(piece)] if quoted else _unquoted(piece)
        quoted = not quoted
    return fields


def format_time(fields: Sequence[Field], milliseconds: int) -> str:
    """A time, in milliseconds since 1970, by the fields of a pattern; ValueError beyond the year 9999."""
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise ValueError(f"the timestamp {milliseconds} lies beyond the year 9999") from None
    return "".join(field(moment) for field in fields)


def _unquoted(piece: str) -> list[Field]:
    fields: list[Field] = []
    for letter, run in groupby(piece):
        width = len(list(run))
        if not (letter.isascii() and letter.isalpha()):
            fields.append(_constant(letter * width))
        elif letter in _FIELDS:
            fields.append(partial(_FIELDS[letter], width=width))
        else:
            raise ValueError(f"the pattern letter {letter!r} is not supported; there are: {', '.join(_FIELDS)}")
    return fields


def _constant(text: str) -> Field:
    shown = text.replace("\0", "'")
    return lambda _: shown


def _number(of: Callable[[datetime], int]) -> Callable[..., str]:
    return lambda moment, width: f"{of(moment):0{width}d}"


def _year(moment: datetime, width: int) -> str:
    return f"{moment.year % 100:02d}" if width == 2 else f"{moment.year:0{width}d}"


def _month(moment: datetime, width: int) -> str:
    return _name(_MONTHS[moment.month - 1], width) if width >= 3 else f"{moment.month:0{width}d}"


def _day_name(moment: datetime, width: int) -> str:
    return _name(_DAYS[moment.weekday()], width)


def _half_of_day(moment: datetime, width: int) -> str:  # noqa: ARG001 as wide as it is
    return "AM" if moment.hour < 12 else "PM"


def _name(whole: str, width: int) -> str:
    return whole if width >= 4 else whole[:3]


_FIELDS: Mapping[str, Callable[..., str]] = {
    "y": _year,
    "M": _month,
    "d": _number(lambda moment: moment.day),
    "D": _number(lambda moment: moment.timetuple().tm_yday),
    "E": _day_name,
    "u": _number(lambda moment: moment.isoweekday()),
    "H": _number(lambda moment: moment.hour),
    "k": _number(lambda moment: moment.hour or 24),
    "h": _number(lambda moment: moment.hour % 12 or 12),
    "K": _number(lambda moment: moment.hour % 12),
    "a": _half_of_day,
    "m": _number(lambda moment: moment.minute),
    "s": _number(lambda moment: moment.second),
    "S": _number(lambda moment: moment.microsecond // 1000),
}
