"""Numeric and money."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from eosfw.data import FLOAT64, STRING, Schema, decimal
from eosfw.errors import DataError
from eosfw_postgres.types.schemas import VARIABLE_SCALE_DECIMAL
from eosfw_postgres.types.text_arrays import ArrayParser, decimals

__all__ = [
    "money_of",
    "numeric_schema",
    "precise",
    "precise_arrays",
    "scale_and_precision",
    "text_of_numeric",
    "variable_scale",
]

_SPECIAL = {"NaN": "NAN", "Infinity": "POSITIVE_INFINITY", "-Infinity": "NEGATIVE_INFINITY"}
_NO_DIGIT = re.compile(r"\D+")


def scale_and_precision(typmod: int) -> tuple[int, int] | None:
    """The digits behind the point and in all that a typmod of numeric says; None if it says nothing."""
    if typmod < 4:
        return None
    packed = typmod - 4
    scale = packed & 0x7FF
    return scale - 2048 if scale & 0x400 else scale, packed >> 16


def numeric_schema(mode: str, typmod: int) -> Schema:
    """The schema of a column of numeric."""
    if mode != "precise":
        return FLOAT64 if mode == "double" else STRING
    limits = scale_and_precision(typmod)
    if limits is None:
        return VARIABLE_SCALE_DECIMAL
    precision, scale = _digits(*limits)
    schema = decimal(scale)
    return Schema(
        schema.type,
        name=schema.name,
        version=schema.version,
        parameters={**schema.parameters, "connect.decimal.precision": str(precision)},
    )


def _digits(scale: int, precision: int) -> tuple[int, int]:
    """The digits in all and behind the point that the texts have."""
    # Of a negative scale the text has all digits before the point, zeros at its end.
    return precision - min(scale, 0), max(scale, 0)


def precise_arrays(typmod: int) -> ArrayParser | None:
    """What makes decimals of arrays of texts, if the column has one scale."""
    limits = scale_and_precision(typmod)
    return None if limits is None else decimals(*_digits(*limits))


def precise(text: str) -> Decimal:
    """A number with the scale of its column; DataError for NaN and the infinities."""
    number = Decimal(text)
    if number.is_finite():
        return number
    raise _no_decimal()


def variable_scale(text: str) -> dict[str, Any]:
    """A number with its own scale, without zeros behind the point; DataError for NaN and the infinities."""
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    try:
        unscaled = int(whole + fraction)
    except ValueError:  # it is NaN, infinite, or has more digits than Python reads as a whole number
        unscaled = int(precise(whole + fraction))
    bits = unscaled.bit_length() if unscaled >= 0 else (unscaled + 1).bit_length()
    return {"scale": len(fraction), "value": unscaled.to_bytes(bits // 8 + 1, "big", signed=True)}


def text_of_numeric(text: str) -> str:
    """A number as text, with Debezium's words for NaN and the infinities."""
    return _SPECIAL.get(text, text)


def money_of(mode: str, digits: int) -> Callable[[str], Any]:
    """What makes a number of the text of money, whatever signs the server's locale puts between its digits."""

    def exact(text: str) -> Decimal:
        negative = "-" in text or "(" in text
        amount = _NO_DIGIT.sub("", text)
        return Decimal((int(negative), tuple(map(int, amount)), -digits))

    def plain(text: str) -> str:
        return format(exact(text) + 0, "f")

    def single(text: str) -> float:
        return float(exact(text))

    return {"precise": exact, "string": plain, "double": single}[mode]


def _no_decimal() -> DataError:
    return DataError(
        "a numeric is NaN or infinite, which no Decimal can be: set decimal.handling.mode to string or double"
    )
