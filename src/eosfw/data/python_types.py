"""Schemas from types of Python, and back: dataclasses, typed dictionaries, annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, make_dataclass, replace
from dataclasses import Field as DataclassField
from dataclasses import field as dataclass_field
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from eosfw.data.fitting import default_of
from eosfw.data.logical import DATE, DECIMAL_NAME, TIME, TIMESTAMP
from eosfw.data.schema import BOOLEAN, BYTES, FLOAT64, INT64, STRING, Field, Schema, Type, array, map_of, struct
from eosfw.errors import DataError

__all__ = ["dataclass_of", "schema_of_type"]

# In this order: a bool is an int, and a datetime a date.
_PLAIN: Sequence[tuple[type, Schema]] = (
    (bool, BOOLEAN), (int, INT64), (float, FLOAT64), (str, STRING), (bytes, BYTES),
    (datetime, TIMESTAMP), (date, DATE), (time, TIME),
)  # fmt: skip


def schema_of_type(kind: Any) -> Schema:
    """The schema of a type: a dataclass, a TypedDict, or an annotation such as `list[int]` or `str | None`.

    `int` is INT64 and `float` FLOAT64; `Annotated[int, INT32]` says another schema. A `Decimal` has no scale of its
    own, so it needs one: `Annotated[Decimal, decimal(2)]`. A struct has the name of its class. DataError, with the
    path of the field, for what has no schema.
    """
    try:
        return _schema(kind)
    except _NoSchemaError as why:
        place = f"field {'.'.join(why.path)!r}: " if why.path else ""
        raise DataError(f"{place}{why.text}") from None


class _NoSchemaError(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.path: list[str] = []


def _schema(kind: Any) -> Schema:
    if isinstance(kind, Schema):
        return kind
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if origin in (Required, NotRequired):
        return _schema(arguments[0])
    if origin in (Union, UnionType):
        return _union(kind, arguments)
    if origin is Literal and all(isinstance(one, str) for one in arguments):
        return STRING
    return _generic(kind, origin, arguments) if origin is not None else _class(kind)


def _annotated(kind: Any, metadata: Sequence[Any]) -> Schema:
    for one in metadata:
        if isinstance(one, Schema):
            return one.as_optional() if NoneType in get_args(kind) else one
    return _schema(kind)


def _union(kind: Any, members: Sequence[Any]) -> Schema:
    left = [one for one in members if one is not NoneType]
    if len(left) != 1:
        raise _NoSchemaError(f"{kind} may be of several types, and a schema has one")
    return _schema(left[0]).as_optional()


def _generic(kind: Any, origin: Any, arguments: Sequence[Any]) -> Schema:
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return map_of(_schema(arguments[0]), _schema(arguments[1]))
    if isinstance(origin, type) and issubclass(origin, (list, Sequence, set, frozenset)):
        if issubclass(origin, tuple) and arguments[1:] != (...,):
            raise _NoSchemaError(f"{kind} has elements of several types; say list[...] or use a dataclass")
        return array(_schema(arguments[0]))
    raise _NoSchemaError(f"{kind} has no schema")


def _class(kind: Any) -> Schema:
    if is_dataclass(kind) or is_typeddict(kind):
        return struct(list(_fields(kind)), name=kind.__name__)
    if kind is Decimal:
        raise _NoSchemaError("a Decimal needs its scale: write Annotated[Decimal, decimal(2)]")
    for known, schema in _PLAIN:
        if isinstance(kind, type) and issubclass(kind, known):
            return schema
    raise _NoSchemaError(f"{getattr(kind, '__name__', kind)} has no schema")


def _fields(kind: Any) -> Iterator[Field]:
    hints = get_type_hints(kind, include_extras=True)
    defaults = {one.name: _default(one) for one in fields(kind)} if is_dataclass(kind) else {}
    for name in defaults or hints:
        try:
            schema = _schema(hints[name])
        except _NoSchemaError as why:
            why.path.insert(0, name)
            raise
        if _may_be_missing(kind, name, hints[name]):
            schema = schema.as_optional()
        default = defaults.get(name)
        yield Field(name, schema if default is None else _with_default(schema, name, default))


def _with_default(schema: Schema, name: str, default: Any) -> Schema:
    try:
        return replace(schema, default=default)
    except DataError as why:
        error = _NoSchemaError(str(why))
        error.path.insert(0, name)
        raise error from None


def _may_be_missing(kind: Any, name: str, hint: Any) -> bool:
    """Whether a TypedDict needs no such key; one whose annotations were texts does not know itself."""
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint) is NotRequired
    return name in getattr(kind, "__optional_keys__", ())


def _default(one: DataclassField[Any]) -> Any:
    return None if one.default is MISSING else one.default


def dataclass_of(schema: Schema) -> type:
    """A frozen dataclass with the fields of a STRUCT, of which `schema_of` makes the same schema again.

    What a class cannot say (version, doc, parameters of the struct itself) is lost. DataError for another type.
    """
    if schema.type is not Type.STRUCT:
        raise DataError(f"only a STRUCT is a dataclass, not {schema.type.name}")
    made = []
    for one in schema.fields:
        default = default_of(one.schema)
        own = dataclass_field(kw_only=True) if default is None else _member_with_default(default)
        made.append((one.name, _annotation(one.schema), own))
    name = (schema.name or "Struct").rpartition(".")[2]
    return make_dataclass(name, made, frozen=True)


def _member_with_default(default: Any) -> Any:
    if isinstance(default, (list, dict)):
        return dataclass_field(kw_only=True, default_factory=partial(_copy, default))
    return dataclass_field(kw_only=True, default=default)


def _copy(default: Any) -> Any:
    return type(default)(default)


def _annotation(schema: Schema) -> Any:
    kind = _python_type(schema)
    if schema.optional:
        kind |= None
    return Annotated[kind, replace(schema, default=None)]


def _python_type(schema: Schema) -> Any:
    if schema.name == DECIMAL_NAME:
        return Decimal
    for known, plain in _PLAIN:
        if plain.name is not None and plain.name == schema.name:
            return known
    return _BY_TYPE[schema.type]


_BY_TYPE: Mapping[Type, Any] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), int),
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
    Type.ARRAY: list[Any],
    Type.MAP: dict[Any, Any],
    Type.STRUCT: Mapping[str, Any],
}
