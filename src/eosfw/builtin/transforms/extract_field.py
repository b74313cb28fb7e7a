"""The transformation that leaves one field of a key or value."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from eosfw.builtin.transforms.fields.field_path import FIELD_SYNTAX_VERSION, FieldPath, Nulls
from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL
from eosfw.builtin.transforms.fields.key_or_value import KeyOrValueTransformation, SchemaAndColumn, variants
from eosfw.builtin.transforms.fields.requirements import require_map, require_struct
from eosfw.config import Config, ConfigDef, String
from eosfw.data import ArrowValues, Schema, SchemaAndValue, StructColumns, Type
from eosfw.data.columns import Column, as_list, is_arrow
from eosfw.errors import ConfigError, Problem
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["ExtractFieldKey", "ExtractFieldValue"]

_PURPOSE = "field extraction"


class ExtractField(KeyOrValueTransformation):
    """Makes one field the whole key or value (Kafka Connect's `ExtractField`)."""

    config: ClassVar = ConfigDef(
        String("field", doc="the field, or the path to it", importance="MEDIUM"), REPLACE_NULL, FIELD_SYNTAX_VERSION
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        try:
            self._path = FieldPath.parse(config["field"], config["field.syntax.version"])
        except ValueError as why:
            raise ConfigError(Problem("", str(why))) from None
        # Those on the way always do, in Kafka Connect, too.
        self._nulls = Nulls(outer=True, last=config["replace.null.with.default"])

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        schema, value = given
        if schema is None:
            return SchemaAndValue(None, self._of_map(value))
        if value is not None:
            require_struct(schema, value, _PURPOSE)
        made = self._path.schema_in(schema)
        if value is None:
            return SchemaAndValue(made, None)
        return SchemaAndValue(made, self._path.in_struct(schema, value, self._nulls))

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        if schema is None:
            return None, [self._of_map(one) for one in column]
        made = self._path.schema_in(schema)
        return made, _whole(made, self._path.in_column(schema, column, self._nulls))

    def _of_map(self, value: object) -> object:
        return None if value is None else self._path.in_map(require_map(value, _PURPOSE))


def _whole(schema: Schema, column: Column) -> Column:
    """A column of a field as keys or values."""
    if not is_arrow(column):
        return column if isinstance(column, StructColumns) else as_list(column)
    if schema.type is not Type.STRUCT:
        return ArrowValues(cast("Any", column))
    from eosfw.builtin.transforms.fields.arrow_columns import columns_of_structs

    structs = columns_of_structs(column, schema.names)
    return as_list(column) if structs is None else structs


ExtractFieldKey, ExtractFieldValue = variants(ExtractField)
