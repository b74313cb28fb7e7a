"""Write flat JSON byte for byte as Kafka Connect's JsonConverter does without schemas.

The bytes of a key decide its partition and what compaction keeps: a Java worker must write the same. Jackson differs
from Python in three points: it writes upper-case hexadecimal in escapes, escapes characters beyond the basic plane, and
spells floating-point numbers as Java does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

from eosfw.records import Primitive
from eosfw.text import type_name

LONG = range(-(2**63), 2**63)
"""Ask it for an `int(value)`: a range goes through all its numbers for one of a subclass, such as an IntEnum."""
_ESCAPED = re.compile(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class NotPrimitiveError(ValueError):
    """A value that an offset cannot hold; the text says which and why."""


def pair(first: str, second: Mapping[str, Primitive]) -> bytes:
    """A two-element array, the shape of an offset's key: equal mappings have equal bytes, in the order of their names.

    Connect takes a map's own order, so that equal maps of Java can have different keys, of which compaction keeps all.
    """
    members = sorted(_members(second))
    return f"[{text(first)},{_object(members)}]".encode()


def flat_object(values: Mapping[str, Primitive]) -> bytes:
    """An object of primitives in the order given, the shape of an offset."""
    return _object(_members(values)).encode()


def _members(values: Mapping[str, Primitive]) -> list[tuple[str, str]]:
    """Names with the text of each member."""
    if not isinstance(values, Mapping):
        raise NotPrimitiveError(f"{values!r} is no mapping")
    return [(key, f"{_key(key)}:{_primitive(key, value)}") for key, value in values.items()]


def _object(members: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(member for _, member in members) + "}"


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise NotPrimitiveError(f"key {key!r} is no text")
    return text(key)


def _primitive(key: str, value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if int(value) not in LONG:
            raise NotPrimitiveError(f"{key!r} is {value}, which no 64-bit number can hold")
        return str(int(value))
    if isinstance(value, float):
        return number(key, value)
    raise NotPrimitiveError(f"{key!r} is a {type_name(value)}; only text, numbers, booleans, None can be kept")


def number(key: str, value: float) -> str:
    """A double as Java spells it: shortest digits, plain between 10^-3 and 10^7, else with an exponent."""
    if not math.isfinite(value):
        raise NotPrimitiveError(f"{key!r} is {value}, which JSON cannot hold")
    return java_double(value)


def java_double(value: float) -> str:
    """A double as Java's `Double.toString` spells it, also one that is infinite or not a number."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    value = float(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits = Decimal(repr(value))
    # Java writes two digits at least, the nearest ones: 4.9E-324 where Python writes 5e-324.
    return _scientific(Decimal(f"{value:.1e}") if len(digits.as_tuple().digits) == 1 else digits)


def _scientific(value: Decimal) -> str:
    sign, digits, exponent = value.normalize().as_tuple()
    first, *others = (str(digit) for digit in digits)
    return f"{'-' * sign}{first}.{''.join(others) or '0'}E{int(exponent) + len(others)}"


def text(value: str) -> str:
    """A quoted text."""
    return f'"{_ESCAPED.sub(_escape, value)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x20:
        return f"\\u{code:04X}"
    if code < 0x10000:
        raise NotPrimitiveError(f"text holds half a character ({character!r}), which UTF-8 cannot write")
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
