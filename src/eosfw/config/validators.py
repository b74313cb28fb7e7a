"""Validators of parsed values, for the argument `validator` of a property (those of Kafka's `ConfigDef`).

Any callable is one that takes the value and raises ValueError with what was expected: its text goes on where "Invalid
value X for configuration NAME:" ends. `Int`, `Double` and `Choice` have limits of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

__all__ = ["all_of", "between", "each", "matches", "non_empty", "one_of"]

_Validator = Callable[[Any], object]


def between(low: float, high: float) -> _Validator:
    """A number of at least `low` and at most `high` (`Range.between`)."""

    def validate(value: float) -> None:
        if not low <= value <= high:
            raise ValueError(f"Value must be between {low} and {high}")

    return validate


def one_of(*allowed: Any) -> _Validator:
    """One of these values (`ValidString.in`); unlike `Choice` it distinguishes case."""

    def validate(value: Any) -> None:
        if value not in allowed:
            raise ValueError(f"String must be one of: {', '.join(map(str, allowed))}")

    return validate


def matches(pattern: str) -> _Validator:
    """A text that a regular expression matches as a whole."""
    compiled = re.compile(pattern)

    def validate(value: str) -> None:
        if compiled.fullmatch(value) is None:
            raise ValueError(f"String must match pattern {pattern}")

    return validate


def non_empty(value: Collection[Any]) -> None:
    """A text, or a list, that is not empty (`NonEmptyString`)."""
    if not value:
        raise ValueError("String must be non-empty" if isinstance(value, str) else "List must be non-empty")


def each(validator: _Validator) -> _Validator:
    """A list whose items are all valid (as `ValidList.in` with `one_of`)."""

    def validate(values: Collection[Any]) -> None:
        for value in values:
            validator(value)

    return validate


def all_of(*validators: _Validator) -> _Validator:
    """A value with which all of these agree (`CompositeValidator`)."""

    def validate(value: Any) -> None:
        for validator in validators:
            validator(value)

    return validate
