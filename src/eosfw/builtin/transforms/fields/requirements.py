"""What transformations demand of a key or value (Kafka Connect's `Requirements`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from eosfw.data import Schema, Type
from eosfw.errors import DataError

__all__ = ["kind_of", "non_empty_list", "require_map", "require_struct", "shown_schema"]


def require_map(value: Any, purpose: str) -> Mapping[str, Any]:
    """The value, if it is a mapping; DataError if not."""
    if type(value) is dict or isinstance(value, Mapping):
        return value
    raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {kind_of(value)}")


def require_struct(schema: Schema, value: Any, purpose: str) -> Mapping[str, Any]:
    """The value, if its schema is of a struct; DataError if not, or if it is null."""
    if schema.type is Type.STRUCT and value is not None:
        return value  # type: ignore[no-any-return]  # it fits its schema
    raise DataError(f"Only Struct objects supported for [{purpose}], found: {kind_of(value)}")


def kind_of(value: Any) -> str:
    """The type of a value, for messages."""
    return "null" if value is None else type(value).__name__


def shown_schema(schema: Schema) -> str:
    """A schema, for messages."""
    return f"Schema{{{'' if schema.name is None else f'{schema.name}:'}{schema.type.name}}}"


def non_empty_list(value: Collection[Any]) -> None:
    """A validator of a property: a list that is not empty (Kafka Connect's `NonEmptyListValidator`)."""
    if not value:
        raise ValueError("Empty list")
