"""Turn a tree of fields into the message class of one version.

Handlers answer with trees of mappings by Kafka's field names, the union of all versions. Here each version picks the
fields it has, so no handler needs to know which version names what.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_args

from kio.schema.errors import ErrorCode

Builder = Callable[[Mapping[str, Any]], Any]
_Convert = Callable[[Any], Any]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MISSING = object()
_ERRORS = {int(code): code for code in ErrorCode}
_ZERO = dt.timedelta(0)


def _milliseconds(value: int | dt.timedelta) -> dt.timedelta:
    if isinstance(value, dt.timedelta):  # as requests carry it
        return value
    return dt.timedelta(milliseconds=value) if value else _ZERO


def _moment(value: int | None) -> dt.datetime | None:
    return None if value is None else _EPOCH + dt.timedelta(milliseconds=value)


_CONVERT: Mapping[str, _Convert] = {
    "error_code": _ERRORS.__getitem__,
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "datetime_i64": _moment,
}


@cache
def builder(schema: type) -> Builder:
    """A function that makes a message of this class from a mapping."""
    plan = [(field.name, _fallback(field), _converter(field)) for field in dataclasses.fields(schema)]

    def build(tree: Mapping[str, Any]) -> Any:
        values = {}
        for name, fallback, convert in plan:
            value = tree.get(name, _MISSING)
            if value is not _MISSING:
                values[name] = value if convert is None else convert(value)
            elif fallback is not _MISSING:
                values[name] = fallback
        return schema(**values)

    return build


def _fallback(field: dataclasses.Field[Any]) -> object:
    """What a field without a default of its own gets when an answer does not mention it."""
    if field.name == "throttle_time":
        return _ZERO
    if field.default is dataclasses.MISSING and type(None) in get_args(field.type):
        return None
    return _MISSING


def _converter(field: dataclasses.Field[Any]) -> _Convert | None:
    kind = field.metadata.get("kafka_type")
    if get_args(field.type)[:1] and is_array(field.type):
        return _array(field, kind)
    if kind is None:
        nested = builder(message_class(field.type))
        return lambda value: None if value is None else nested(value)
    return _CONVERT.get(kind)


def is_array(kind: Any) -> bool:
    """Whether an annotation is that of an array, which may be null."""
    return getattr(kind, "__origin__", None) is tuple or any(
        getattr(arm, "__origin__", None) is tuple for arm in get_args(kind)
    )


def _array(field: dataclasses.Field[Any], kind: str | None) -> _Convert:
    convert = builder(message_class(field.type)) if kind is None else _CONVERT.get(kind)
    if convert is None:
        return lambda values: None if values is None else tuple(values)
    element = convert
    return lambda values: None if values is None else tuple([element(value) for value in values])


def message_class(kind: Any) -> type:
    """The message class somewhere inside an annotation such as `tuple[X, ...] | None`."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return kind
    for arm in get_args(kind):
        if arm not in (Ellipsis, type(None)):
            return message_class(arm)
    raise TypeError(f"no message class in {kind!r}")
