"""Schemas of keys, values and headers: Kafka Connect's model (its package `org.apache.kafka.connect.data`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from eosfw.errors import DataError

__all__ = [
    "BOOLEAN",
    "BYTES",
    "FLOAT32",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "Field",
    "Schema",
    "SchemaAndValue",
    "Type",
    "array",
    "map_of",
    "struct",
]


class Type(Enum):
    """The types of Kafka Connect's `Schema.Type`; the value is the name that its documents use."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def is_primitive(self) -> bool:
        """Whether values of the type have no parts."""
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


@dataclass(frozen=True, eq=False)
class Schema:
    """What a key, a value or a part of one may be; two schemas are equal if all they say is equal.

    Make one with the constants and functions of this module or with `schema_of`; `dataclasses.replace` changes one.
    DataError if its parts contradict each other, or its default does not fit it.
    """

    type: Type
    optional: bool = False
    """Whether null is allowed."""
    default: Any = None
    """What stands for a null, such as `default_of` gives it; None if there is no default."""
    name: str | None = None
    """The name of a struct, or of the logical type."""
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()
    """The fields of a STRUCT, in their order."""
    key_schema: Schema | None = None
    """Of the keys of a MAP."""
    value_schema: Schema | None = None
    """Of the elements of an ARRAY, or the values of a MAP."""
    _by_name: Mapping[str, Schema] = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_parts(self)
        known = {one.name: one.schema for one in self.fields}
        if len(known) != len(self.fields):
            raise DataError(f"two fields of the schema {self.name or self.type.value} have one name")
        parts = (self.type, self.optional, self.name, self.version, self.fields, self.key_schema, self.value_schema)
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "_by_name", known)
        # Computed once: a schema is the key of everything that is made for it, and looked up for each batch.
        object.__setattr__(self, "_hash", hash(parts))
        if self.default is not None:
            _check_default(self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema) or self._hash != other._hash:
            return False
        # By its text a zero has its sign.
        return self._parts() == other._parts() and (
            not isinstance(self.default, float) or repr(self.default) == repr(other.default)
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled, and the hash of a text differs between processes.
        parts = self._parts()
        return Schema, (*parts[:6], dict(self.parameters), *parts[7:])

    def _parts(self) -> tuple[Any, ...]:
        return (
            self.type,
            self.optional,
            self.default,
            self.name,
            self.version,
            self.doc,
            self.parameters,
            self.fields,
            self.key_schema,
            self.value_schema,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields of a STRUCT."""
        return tuple(self._by_name)

    def field(self, name: str) -> Schema | None:
        """The schema of a field of a STRUCT; None if there is no such field."""
        return self._by_name.get(name)

    def as_optional(self) -> Schema:
        """The same schema, which also allows null."""
        return self if self.optional else replace(self, optional=True)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a STRUCT."""

    name: str
    schema: Schema


class SchemaAndValue(NamedTuple):
    """A value with its schema, such as that of a header (Kafka Connect's `SchemaAndValue`)."""

    schema: Schema | None
    value: Any


def array(values: Schema) -> Schema:
    """The schema of a list of such values."""
    return Schema(Type.ARRAY, value_schema=values)


def map_of(keys: Schema, values: Schema) -> Schema:
    """The schema of a mapping from such keys to such values."""
    return Schema(Type.MAP, key_schema=keys, value_schema=values)


def struct(fields: Mapping[str, Schema] | Iterable[Field], name: str | None = None) -> Schema:
    """The schema of a record with these fields, in this order."""
    if isinstance(fields, Mapping):
        fields = [Field(each, schema) for each, schema in fields.items()]
    return Schema(Type.STRUCT, name=name, fields=tuple(fields))


def _check_parts(schema: Schema) -> None:
    """Refuse parts that the type does not have, and the lack of those that it needs."""
    wanted = {Type.ARRAY: (False, True), Type.MAP: (True, True)}.get(schema.type, (False, False))
    if (schema.key_schema is not None, schema.value_schema is not None) != wanted:
        raise DataError(f"a schema of type {schema.type.name} needs {_NEEDS.get(schema.type, 'no schemas of parts')}")
    if schema.fields and schema.type is not Type.STRUCT:
        raise DataError(f"a schema of type {schema.type.name} has no fields")


def _check_default(schema: Schema) -> None:
    """Refuse a default that no value could be (`SchemaBuilder.defaultValue`)."""
    from eosfw.data.fitting import default_of  # which fits values to schemas, so it imports this module

    try:
        default_of(schema)
    except DataError as why:
        raise DataError(f"the default of a schema of type {schema.type.name} does not fit it: {why}") from None


_NEEDS = {Type.ARRAY: "the schema of its values", Type.MAP: "the schemas of its keys and values"}

INT8 = Schema(Type.INT8)
INT16 = Schema(Type.INT16)
INT32 = Schema(Type.INT32)
INT64 = Schema(Type.INT64)
FLOAT32 = Schema(Type.FLOAT32)
FLOAT64 = Schema(Type.FLOAT64)
BOOLEAN = Schema(Type.BOOLEAN)
STRING = Schema(Type.STRING)
BYTES = Schema(Type.BYTES)
