"""Numbers as Java reads, converts and writes them."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from fractions import Fraction

from eosfw.builtin.connect_json import java_double

__all__ = [
    "decimal_of",
    "decimal_text",
    "float_text",
    "integral",
    "parse_float",
    "parse_integer",
    "saturated",
    "single",
    "wrapped",
]

_SINGLE = struct.Struct("<f")
_WHOLE = re.compile(r"[+-]?\d+")
_FLOATING = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:(?P<decimal>[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?)"
)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_BLANKS = "".join(map(chr, range(33)))
"""What `String.trim` cuts off."""
_MOST_EXPONENT = 10_000
"""Beyond it every number is infinite or zero, and exact arithmetic would take for ever."""


def parse_integer(text: str, bits: int) -> int:
    """`Byte.parseByte` and its like; ValueError for what is no whole number of so many bits."""
    if not _WHOLE.fullmatch(text):
        raise ValueError("no whole number")
    number = int(text)
    if wrapped(number, bits) != number:
        raise ValueError("out of range")
    return number


def parse_float(text: str, *, is_single: bool) -> float:
    """`Float.parseFloat` or `Double.parseDouble`; ValueError for what is no number."""
    text = text.strip(_BLANKS)
    found = _FLOATING.fullmatch(text)
    if found is None:
        raise ValueError("no number")
    if text.endswith(("NaN", "Infinity")):
        return float(text)
    text = text.rstrip("dDfF") if found["decimal"] else text
    if found["decimal"] is None:
        number = _hexadecimal(text)
        return single(number) if is_single else number
    return single(Decimal(text)) if is_single else float(text)


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text[:-1] if text[-1] in "dDfF" else text)
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def decimal_of(text: str) -> Decimal:
    """`new BigDecimal(text)`; ValueError for what is no number."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError("no number")
    return Decimal(text)


def decimal_text(number: Decimal) -> str:
    """`BigDecimal.toString`; Java's numbers have no negative zero."""
    return str(number or abs(number))


def wrapped(number: int, bits: int) -> int:
    """The lowest bits of a number, as a narrowing conversion keeps them."""
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def saturated(number: float, bits: int) -> int:
    """A floating-point number cast to a whole one: towards zero, never beyond its range, 0 for NaN."""
    if math.isnan(number):
        return 0
    high = (1 << bits - 1) - 1
    return int(min(max(number, -high - 1), high)) if math.isfinite(number) else high if number > 0 else -high - 1


def integral(number: float | Decimal, bits: int) -> int:
    """`byteValue` and its like of any number."""
    if isinstance(number, float):
        # A double becomes an int or a long first, and that is narrowed.
        return wrapped(saturated(number, max(bits, 32)), bits)
    return wrapped(int(number), bits)


def single(number: float | Decimal) -> float:
    """`floatValue`: the nearest number of 32 bits, infinite beyond its range."""
    double = _double(number)
    if not math.isfinite(double):
        return double
    try:
        near: float = _SINGLE.unpack(_SINGLE.pack(double))[0]
    except OverflowError:
        return math.copysign(math.inf, double)
    other = 2 * double - near
    if other == near or isinstance(number, float) or Fraction(number) == Fraction(double):
        return near
    if not _is_single(other):
        return near
    # Halfway between two of them, but only as a double: the number itself is nearer to one.
    return max(near, other) if Fraction(number) > Fraction(double) else min(near, other)


def _double(number: float | Decimal) -> float:
    if isinstance(number, Decimal) and number and abs(number.adjusted()) > _MOST_EXPONENT:
        return math.copysign(math.inf if number.adjusted() > 0 else 0.0, number)
    try:
        return float(number)
    except OverflowError:  # of an int
        return math.inf if number > 0 else -math.inf


def _is_single(number: float) -> bool:
    try:
        return bool(_SINGLE.unpack(_SINGLE.pack(number))[0] == number)
    except OverflowError:
        return False


def float_text(number: float) -> str:
    """`Float.toString` of a number of 32 bits: the shortest digits that tell it from its neighbours."""
    if not math.isfinite(number) or number == 0:
        return java_double(number)
    for digits in range(1, 10):
        near = float(f"{number:.{digits}g}")
        if single(near) == number:
            return java_double(near)
    raise ValueError("no number of 32 bits")
