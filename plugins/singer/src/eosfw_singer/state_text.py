"""JSON whose numbers are those that the tap wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from math import isfinite
from typing import Any


def state_text(state: Any) -> str:
    """A STATE as JSON, with each number as it is; equal for equal ones."""
    return _text(state, json.dumps, sorted)


def value_text(value: Any) -> str:
    """A value as JSON, with each number as it is."""
    return _text(value, _unescaped, list)


def _text(value: Any, dumps: Callable[[Any], str], order: Callable[[Iterable[tuple[str, Any]]], list[Any]]) -> str:
    if isinstance(value, dict):
        members = (f"{dumps(name)}:{_text(one, dumps, order)}" for name, one in order(value.items()))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(_text(one, dumps, order) for one in value)}]"
    if isinstance(value, Decimal):
        number = exact_number(str(value))
        return str(number) if isinstance(number, Decimal) else dumps(number)
    return dumps(value)


_unescaped = json.JSONEncoder(ensure_ascii=False).encode


def exact_number(text: str) -> float | Decimal:
    """A number with a fraction or an exponent: a float, unless that would be another number."""
    number, exact = float(text), Decimal(text)
    return number if isfinite(number) and Decimal(repr(number)) == exact else exact
