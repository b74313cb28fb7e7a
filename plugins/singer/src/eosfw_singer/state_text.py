"""A STATE as JSON whose numbers are those that the tap wrote."""

from __future__ import annotations

import json
from decimal import Decimal
from math import isfinite
from typing import Any


def state_text(state: Any) -> str:
    """A STATE as JSON, with each number as it is; equal for equal ones."""
    if isinstance(state, dict):
        members = (f"{json.dumps(name)}:{state_text(one)}" for name, one in sorted(state.items()))
        return f"{{{','.join(members)}}}"
    if isinstance(state, list):
        return f"[{','.join(map(state_text, state))}]"
    if isinstance(state, Decimal):
        number = exact_number(str(state))
        return str(number) if isinstance(number, Decimal) else json.dumps(number)
    return json.dumps(state)


def exact_number(text: str) -> float | Decimal:
    """A number with a fraction or an exponent: a float, unless that would be another number."""
    number, exact = float(text), Decimal(text)
    return number if isfinite(number) and Decimal(repr(number)) == exact else exact
