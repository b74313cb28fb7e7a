"""Read timestamps as numbers: kio refuses the -1 that Kafka sends for "none" where its schema allows no null."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, get_args

from eosfw_memory.server.protocol.schemas import is_array, message_class

_TIMESTAMP, _NUMBER = "datetime_i64", "int64"
_ABOUT = ("__type__", "__version__", "__flexible__", "__api_key__", "__header_schema__")


@cache
def with_numeric_timestamps(schema: type[Any]) -> Any:
    """The message class with its non-nullable timestamps as milliseconds; the same class if it has none."""
    fields = dataclasses.fields(schema)
    changed = {field.name: made for field in fields if (made := _changed(field)) is not None}
    if not changed:
        return schema
    return dataclasses.make_dataclass(
        schema.__name__,
        [changed.get(each.name) or (each.name, each.type, _copied(each, each.metadata)) for each in fields],
        namespace={name: getattr(schema, name) for name in _ABOUT if hasattr(schema, name)},
        frozen=True,
        slots=True,
        kw_only=True,
    )


def _changed(field: dataclasses.Field[Any]) -> tuple[str, Any, Any] | None:
    kind = field.metadata.get("kafka_type")
    if kind == _TIMESTAMP and type(None) not in get_args(field.type):
        return field.name, int, _copied(field, {**field.metadata, "kafka_type": _NUMBER})
    if kind is not None:
        return None
    nested = message_class(field.type)
    made = with_numeric_timestamps(nested)
    if made is nested:
        return None
    return field.name, tuple[made, ...] if is_array(field.type) else made, _copied(field, field.metadata)  # type: ignore[valid-type]


def _copied(field: dataclasses.Field[Any], metadata: Any) -> Any:
    given = {} if field.default is dataclasses.MISSING else {"default": field.default}
    return dataclasses.field(metadata=dict(metadata), **given)
