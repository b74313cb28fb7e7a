"""Values that the type of an argument allows, and no cluster or clock takes: callbacks of typer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeVar

import typer

MOST_INT32: Final = 2**31 - 1
MOST_INT64: Final = 2**63 - 1
LONGEST: Final = 10 * 365 * 86_400.0
"""Seconds: more than anybody waits, and less than a clock of the operating system holds."""
_Text = TypeVar("_Text", str, Sequence[str], Sequence[str] | None)
_Seconds = TypeVar("_Seconds", bound="float | None")


def utf8(given: _Text) -> _Text:
    """The name, or names; BadParameter for bytes that are no UTF-8, which the name of nothing has."""
    texts: Sequence[str] = (given,) if isinstance(given, str) else given or ()
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise typer.BadParameter(f"{text!r} is not UTF-8") from None
    return given


def seconds(given: _Seconds) -> _Seconds:
    """A time; BadParameter for NaN, and for one that nobody waits for."""
    if given is not None and not (math.isfinite(given) and given <= LONGEST):
        raise typer.BadParameter(f"{given:g} is not between 0 and {LONGEST:.0f} seconds")
    return given
