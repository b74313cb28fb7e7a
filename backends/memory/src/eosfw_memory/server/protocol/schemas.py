"""The fields of kio's message classes, as the check of declared sizes and the serializer need them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, get_args

Field: TypeAlias = "dataclasses.Field[Any]"

FORMATS: Final[Mapping[str, str]] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "error_code": "h",
    "int32": "i",
    "timedelta_i32": "i",
    "int64": "q",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""The types of Kafka's schemas whose values always have the same size, as formats of `struct`."""


def plain_fields(schema: Any) -> list[Field]:
    """The fields that every message of this class carries, in their order."""
    return [field for field in dataclasses.fields(schema) if "tag" not in field.metadata]


def tagged_fields(schema: Any) -> list[Field]:
    """The fields that a message carries only when they differ from their defaults, by number (KIP-482)."""
    fields = (field for field in dataclasses.fields(schema) if "tag" in field.metadata)
    return sorted(fields, key=lambda field: int(field.metadata["tag"]))


def kafka_type(field: Field) -> str | None:
    """The type of a field, or of an array's elements, in Kafka's schemas; None for a nested message."""
    kind: str | None = field.metadata.get("kafka_type")
    return kind


def has_fixed_size(field: Field) -> bool:
    """Whether a field always has as many bytes."""
    return not is_array(field.type) and kafka_type(field) in FORMATS


def is_nullable(field: Field) -> bool:
    """Whether a field may be null."""
    return type(None) in get_args(field.type)


def is_array(kind: Any) -> bool:
    """Whether an annotation is that of an array, which may be null."""
    return getattr(kind, "__origin__", None) is tuple or any(
        getattr(arm, "__origin__", None) is tuple for arm in get_args(kind)
    )


def message_class(kind: Any) -> type:
    """The message class somewhere inside an annotation such as `tuple[X, ...] | None`."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return kind
    for arm in get_args(kind):
        if arm not in (Ellipsis, type(None)):
            return message_class(arm)
    raise TypeError(f"no message class in {kind!r}")
