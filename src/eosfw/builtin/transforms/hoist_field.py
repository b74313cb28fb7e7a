"""The transformation that makes the key or value a field of its own."""

from __future__ import annotations

from typing import ClassVar, cast

from eosfw.builtin.transforms.fields.key_or_value import KeyOrValueTransformation, SchemaAndColumn, variants
from eosfw.config import Config, ConfigDef, String
from eosfw.data import ArrowValues, Schema, SchemaAndValue, StructColumns, struct
from eosfw.data.columns import Column
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["HoistFieldKey", "HoistFieldValue"]


class HoistField(KeyOrValueTransformation):
    """Puts the whole key or value into a field (Kafka Connect's `HoistField`)."""

    config: ClassVar = ConfigDef(String("field", doc="the field of the new struct or map", importance="MEDIUM"))

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._field: str = config["field"]

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        return SchemaAndValue(self._schema(given.schema), {self._field: given.value})

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        if schema is None:
            return None, [{self._field: one} for one in column]
        return self._schema(schema), StructColumns({self._field: _as_field(column)}, len(column))

    def _schema(self, schema: Schema | None) -> Schema | None:
        return None if schema is None else struct({self._field: schema})


def _as_field(column: Column) -> Column:
    """Whole values as a column, in the library that has them."""
    if isinstance(column, ArrowValues):
        return cast("Column", column.array)
    if not isinstance(column, StructColumns) or not column.by_arrow:
        return column
    from eosfw.builtin.transforms.fields.arrow_columns import array_of_structs

    return array_of_structs(column)


HoistFieldKey, HoistFieldValue = variants(HoistField)
