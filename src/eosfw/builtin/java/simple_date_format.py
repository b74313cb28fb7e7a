"""Times written and read by a pattern of Java's `SimpleDateFormat`, in UTC and in English.

As Java's, it is lenient: the 13th month is January of the next year, and what follows the last field is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

__all__ = ["SimpleDateFormat"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UTC = "Coordinated Universal Time"
_NUMBER = re.compile(r"[ \t]*(-?\d+)")
_HOURS, _MINUTES = "([01][0-9]|2[0-3])", "([0-5][0-9])"
_OFFSETS = {
    1: re.compile(f"([+-]){_HOURS}()"),
    2: re.compile(f"([+-]){_HOURS}{_MINUTES}"),
    3: re.compile(f"([+-]){_HOURS}:{_MINUTES}"),
}
"""By how often the letter X is repeated; z and Z read those of the second form."""
_NAMED_ZONE = re.compile(rf"{_UTC}|UTC|GMT(?![+-])|GMT([+-])([01]?[0-9]|2[0-3]):{_MINUTES}", re.IGNORECASE)
_DAY = 24 * 60 * 60 * 1000
_RESOLUTIONS = {"S": 1, "s": 1000, "m": 60_000, **dict.fromkeys("HkKh", 3_600_000), "a": _DAY // 2}
_FIRST_YEAR = 1946
"""Years of two digits lie between this one and 2045: Java moves its century with the clock, and so a record that is
read again next year could become another."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A letter of a pattern as often as it is repeated, or a text (the letter is empty)."""

    letter: str
    width: int = 0
    text: str = ""
    abutting: bool = False
    """Whether another number follows without anything between them, so that it has exactly `width` digits."""


class SimpleDateFormat:
    """A pattern (Java's `SimpleDateFormat`)."""

    def __init__(self, pattern: str) -> None:
        """Take a pattern; ValueError for a letter that is none, or that is not supported."""
        self.pattern = pattern
        self._fields = _with_abutting(_parsed(pattern))

    def __str__(self) -> str:
        return self.pattern

    @property
    def resolution(self) -> int:
        """Milliseconds that the pattern cannot tell apart, if they begin at a multiple of this."""
        return min((_RESOLUTIONS.get(one.letter, _DAY) for one in self._fields), default=_DAY)

    def format(self, milliseconds: int) -> str:
        """A time, in milliseconds since 1970; ValueError beyond the years 1 to 9999."""
        try:
            moment = _EPOCH + timedelta(milliseconds=milliseconds)
        except OverflowError:
            raise ValueError("the timestamp lies beyond the years 1 to 9999") from None
        return "".join(one.text or _WRITERS[one.letter](moment, one.width) for one in self._fields)

    def parse(self, text: str) -> int:
        """Milliseconds since 1970; ValueError for a text that the pattern does not fit."""
        at, found = 0, {}
        for one in self._fields:
            if one.text:
                if not text.startswith(one.text, at):
                    raise ValueError("another text is expected")
                at += len(one.text)
            else:
                found[one.letter], at = _read(one, text, at)
        return _milliseconds(found)


def _parsed(pattern: str) -> list[_Field]:
    fields: list[_Field] = []
    quoted = False
    pieces = pattern.replace("''", "\0").split("'")
    if len(pieces) % 2 == 0:
        raise ValueError("Unterminated quote")
    for piece in pieces:
        if quoted and piece:
            fields.append(_Field("", text=piece.replace("\0", "'")))
        elif not quoted:
            fields += _unquoted(piece)
        quoted = not quoted
    return fields


def _unquoted(piece: str) -> list[_Field]:
    fields: list[_Field] = []
    for letter, run in groupby(piece):
        width = len(list(run))
        if not (letter.isascii() and letter.isalpha()):
            fields.append(_Field("", text=letter.replace("\0", "'") * width))
        elif letter == "X" and width > 3:
            raise ValueError(f"invalid ISO 8601 format: length={width}")
        elif letter in _WRITERS:
            fields.append(_Field(letter, width))
        else:
            raise ValueError(f"Illegal pattern character '{letter}'; there are: {', '.join(_WRITERS)}")
    return fields


def _with_abutting(fields: Sequence[_Field]) -> Sequence[_Field]:
    following = [*fields[1:], _Field("", text=" ")]
    return [
        _Field(one.letter, one.width, one.text, abutting=not one.text and _is_number(after))
        for one, after in zip(fields, following, strict=bool(fields))
    ]


def _is_number(field: _Field) -> bool:
    """Whether a field is read as a number."""
    if field.text or field.letter in "EazZX":
        return False
    return field.letter != "M" or field.width < 3


def _number(of: Callable[[datetime], int]) -> Callable[[datetime, int], str]:
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


_WRITERS: Mapping[str, Callable[[datetime, int], str]] = {
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
    "z": lambda _, width: _UTC if width >= 4 else "UTC",
    "Z": lambda _, __: "+0000",
    "X": lambda _, __: "Z",
}


def _read(field: _Field, text: str, at: int) -> tuple[int, int]:
    """The value of a field, and the place behind it; ValueError if the text has none there."""
    if field.letter in _NAMES and not _is_number(field):
        return _read_name(_NAMES[field.letter], text, at)
    if field.letter in "zZX":
        return _read_zone(field, text, at)
    found = _NUMBER.match(text, at, at + field.width if field.abutting else len(text))
    if found is None:
        raise ValueError("a number is expected")
    number = int(found[1])
    if field.letter == "y" and field.width <= 2 and len(found[1]) == 2 and number >= 0:
        number = _FIRST_YEAR + (number - _FIRST_YEAR) % 100
    return number, found.end()


def _read_name(names: Sequence[str], text: str, at: int) -> tuple[int, int]:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    rest = text[at:].lower()
    for number, name in enumerate(names):
        for shown in (name, name[:3]):
            if shown and rest.startswith(shown.lower()):
                return number, at + len(shown)
    raise ValueError("a name is expected")


def _read_zone(field: _Field, text: str, at: int) -> tuple[int, int]:
    """The offset of a time zone in minutes."""
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    if field.letter == "X":
        if text.startswith("Z", at):
            return 0, at + 1
        found = _OFFSETS[field.width].match(text, at)
    else:
        found = _OFFSETS[2].match(text, at) or _NAMED_ZONE.match(text, at)
    if found is None:
        raise ValueError("an offset of a time zone is expected")
    sign, hours, minutes = (one or "0" for one in found.groups())
    offset = int(hours) * 60 + int(minutes)
    return -offset if sign == "-" else offset, found.end()


_NAMES: Mapping[str, Sequence[str]] = {"M": ("", *_MONTHS), "E": _DAYS, "a": ("AM", "PM")}


def _milliseconds(found: Mapping[str, int]) -> int:
    months = found.get("M", 1) - 1
    if "D" in found and "d" not in found:
        days, months = found["D"] - 1, 0
    else:
        days = found.get("d", 1) - 1
    try:
        start = datetime(found.get("y", 1970) + months // 12, months % 12 + 1, 1, tzinfo=UTC)
        moment = start + timedelta(
            days=days,
            hours=_hour(found),
            minutes=found.get("m", 0) - sum(found.get(zone, 0) for zone in "zZX"),
            seconds=found.get("s", 0),
            milliseconds=found.get("S", 0),
        )
    except OverflowError:
        raise ValueError("it lies beyond the year 9999") from None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _hour(found: Mapping[str, int]) -> int:
    if "H" in found:
        return found["H"]
    if "k" in found:
        return 0 if found["k"] == 24 else found["k"]
    # 15 stays 15, as in Java: patterns say hh where they mean HH.
    half = found.get("K", 0 if found.get("h", 0) == 12 else found.get("h", 0))
    return half + 12 * found.get("a", 0)
