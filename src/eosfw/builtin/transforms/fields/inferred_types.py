"""The types of values without schema (Kafka Connect's `ConnectSchema.schemaType`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw.data import Type

__all__ = ["inferred_type"]

_TYPES: Mapping[type, Type] = {
    bool: Type.BOOLEAN,
    int: Type.INT64,
    float: Type.FLOAT64,
    str: Type.STRING,
    bytes: Type.BYTES,
    list: Type.ARRAY,
    tuple: Type.ARRAY,
    dict: Type.MAP,
}


def inferred_type(value: Any) -> Type | None:
    """The type of a value; None for what Connect knows only with a schema, such as decimals and dates."""
    kind = _TYPES.get(type(value))
    return Type.MAP if kind is None and isinstance(value, Mapping) else kind
