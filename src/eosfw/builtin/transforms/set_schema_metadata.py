"""The transformation that names and numbers schemas."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Never

from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, SCHEMAS
from eosfw.builtin.transforms.fields.key_or_value import KeyOrValueTransformation, SchemaAndColumn, variants
from eosfw.builtin.transforms.fields.struct_change import StructChange, kept
from eosfw.config import Config, ConfigDef, Int, String
from eosfw.data import Schema, SchemaAndValue, Type
from eosfw.data.columns import Column
from eosfw.errors import ConfigError, DataError, Problem
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["SetSchemaMetadataKey", "SetSchemaMetadataValue"]


class SetSchemaMetadata(KeyOrValueTransformation):
    """Sets the name, the version or both of a schema (Kafka Connect's `SetSchemaMetadata`)."""

    config: ClassVar = ConfigDef(
        String("schema.name", None, "the new name", importance="HIGH"),
        Int("schema.version", None, "the new version", importance="HIGH"),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        given = {"name": config["schema.name"], "version": config["schema.version"]}
        self._metadata = {name: one for name, one in given.items() if one is not None}
        if not self._metadata:
            raise ConfigError(Problem("", "Neither schema name nor version configured"))
        self._replace_null = config["replace.null.with.default"]
        self._change = lru_cache(maxsize=SCHEMAS)(self._change_for)

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        schema, value = given
        if schema is None:
            return given if value is None else _require_schema()
        change = self._change(schema)
        is_struct = schema.type is Type.STRUCT and value is not None
        return SchemaAndValue(change.schema, change.row(value) if is_struct else value)

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        if schema is None:
            return (None, column) if all(one is None for one in column) else _require_schema()
        change = self._change(schema)
        return change.schema, change.column(column) if schema.type is Type.STRUCT else column

    def _change_for(self, schema: Schema) -> StructChange:
        changes = {one.name: kept(one, replace_null=self._replace_null) for one in schema.fields}
        return StructChange(replace(schema, **self._metadata), changes)


def _require_schema() -> Never:
    raise DataError("Schema required for [updating schema metadata]")


SetSchemaMetadataKey, SetSchemaMetadataValue = variants(SetSchemaMetadata)
