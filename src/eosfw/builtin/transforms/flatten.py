"""The transformation that makes fields of the fields of nested structs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

from eosfw.builtin.transforms.fields.field_path import FieldPath, Nulls
from eosfw.builtin.transforms.fields.field_transformation import SCHEMAS
from eosfw.builtin.transforms.fields.inferred_types import inferred_type
from eosfw.builtin.transforms.fields.key_or_value import (
    KeyOrValueTransformation,
    SchemaAndColumn,
    variants,
    without_nulls,
)
from eosfw.builtin.transforms.fields.requirements import kind_of, require_map, require_struct
from eosfw.builtin.transforms.fields.struct_change import struct_like
from eosfw.config import Config, ConfigDef, String
from eosfw.data import Field, Schema, SchemaAndValue, StructColumns, Type, default_of
from eosfw.data.columns import Column
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["FlattenKey", "FlattenValue"]

_PURPOSE = "flattening"
_NULLS = Nulls(outer=False, last=True)
"""A struct that is null has no fields, even if it has a default, as in Kafka Connect."""


@dataclass(frozen=True, slots=True)
class _Flat:
    """A schema without nested structs, and where each of its fields comes from."""

    schema: Schema
    paths: Mapping[str, FieldPath]


@dataclass(frozen=True, slots=True)
class _Outer:
    """What holds fields: the names that lead to it, whether it may be null, its default."""

    steps: tuple[str, ...]
    name: str
    optional: bool
    default: Mapping[str, Any] | None


class Flatten(KeyOrValueTransformation):
    """Makes one level of nested structs or maps (Kafka Connect's `Flatten`)."""

    config: ClassVar = ConfigDef(
        String("delimiter", ".", "what stands between the names of a field and of what holds it", may_be_empty=True)
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._delimiter: str = config["delimiter"]
        self._flat = lru_cache(maxsize=SCHEMAS)(self._flat_of)

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        schema, value = given
        if value is None:
            return given
        if schema is None:
            return SchemaAndValue(None, self._flat_map(value))
        whole = require_struct(schema, value, _PURPOSE)
        flat = self._flat(schema)
        return SchemaAndValue(
            flat.schema, {name: path.in_struct(schema, whole, _NULLS) for name, path in flat.paths.items()}
        )

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        if schema is None:
            return None, [None if one is None else self._flat_map(one) for one in column]
        if schema.type is not Type.STRUCT:
            require_struct(schema, column[0], _PURPOSE)
        flat, values = self._flat(schema), without_nulls(column)
        columns = {name: path.in_column(schema, values, _NULLS) for name, path in flat.paths.items()}
        return flat.schema, StructColumns(columns, len(column))

    def _flat_map(self, value: Any) -> dict[str, Any]:
        return dict(self._entries(require_map(value, _PURPOSE), ""))

    def _entries(self, value: Mapping[str, Any], outer: str) -> Iterator[tuple[str, Any]]:
        for key, one in value.items():
            name = self._joined(outer, key)
            kind = None if one is None else inferred_type(one)
            if one is not None and kind is None:
                wrong = f"Flatten transformation was passed a value of type {kind_of(one)} which is not supported by"
                raise DataError(f"{wrong} Connect's data API")
            if kind is Type.MAP:
                yield from self._entries(one, name)
            else:
                yield name, one

    def _joined(self, outer: str, name: str) -> str:
        return f"{outer}{self._delimiter}{name}" if outer else name

    def _flat_of(self, schema: Schema) -> _Flat:
        fields = list(self._fields(schema, _Outer((), "", schema.optional, default_of(schema))))
        made = struct_like(schema, (field for field, _ in fields))
        return _Flat(made, {field.name: path for field, path in fields})

    def _fields(self, schema: Schema, outer: _Outer) -> Iterator[tuple[Field, FieldPath]]:
        for one in schema.fields:
            name, kind = self._joined(outer.name, one.name), one.schema
            default = default_of(kind)
            if default is None and outer.default is not None:
                default = outer.default[one.name]
            here = _Outer((*outer.steps, one.name), name, outer.optional or kind.optional, default)
            if kind.type is Type.STRUCT:
                yield from self._fields(kind, here)
            elif kind.type is Type.MAP:
                wrong = f"Flatten transformation does not support {kind.type.name} for record with schemas"
                raise DataError(f"{wrong} (for field {name}).")
            else:
                yield Field(name, replace(kind, optional=here.optional, default=default)), FieldPath(here.steps)


FlattenKey, FlattenValue = variants(Flatten)
