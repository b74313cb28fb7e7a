"""Transformations that change fields of mappings without schema, and of structs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from eosfw.builtin.transforms.fields.key_or_value import KeyOrValueTransformation, SchemaAndColumn, without_nulls
from eosfw.builtin.transforms.fields.requirements import require_map, require_struct
from eosfw.builtin.transforms.fields.struct_change import StructChange
from eosfw.config import Boolean
from eosfw.data import Schema, SchemaAndValue, Type
from eosfw.data.columns import Column
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["REPLACE_NULL", "SCHEMAS", "FieldTransformation"]

REPLACE_NULL = Boolean(
    "replace.null.with.default", True, "whether the default of a field replaces null, if its schema has one"
)
SCHEMAS = 16
"""As many as Kafka Connect remembers: a source has few schemas, and looking one up costs less than making it."""


class FieldTransformation(KeyOrValueTransformation):
    """Changes the fields of keys or values."""

    purpose: ClassVar[str]
    """What it does, for messages."""
    passes_null: ClassVar[bool] = True
    """Whether null stays null; else it is refused."""

    def change_for(self, schema: Schema) -> StructChange:
        """What becomes of structs of a schema; DataError if they cannot be changed."""
        raise NotImplementedError

    def changed_map(self, value: Mapping[str, Any]) -> Any:
        """What becomes of a mapping without schema."""
        raise NotImplementedError

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        schema, value = given
        if value is None and self.passes_null:
            return given
        if schema is None:
            return SchemaAndValue(None, self.changed_map(require_map(value, self.purpose)))
        whole = require_struct(schema, value, self.purpose)
        change = self._change(schema)
        return SchemaAndValue(change.schema, change.row(whole))

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        if schema is None:
            maps = [one if type(one) is dict else self._map_or_null(one) for one in column]
            return None, [None if one is None else self.changed_map(one) for one in maps]
        if schema.type is not Type.STRUCT:
            require_struct(schema, column[0], self.purpose)
        change = self._change(schema)
        return change.schema, change.column(without_nulls(column))

    def _map_or_null(self, value: Any) -> Mapping[str, Any] | None:
        return None if value is None and self.passes_null else require_map(value, self.purpose)

    def remember(self) -> None:
        """Make `change_for` once for each schema; called when the properties are known."""
        self._change = lru_cache(maxsize=SCHEMAS)(self.change_for)
