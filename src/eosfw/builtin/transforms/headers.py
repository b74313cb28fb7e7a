"""The transformations that add and remove headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from eosfw.builtin.connect_values import parse_string
from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, FieldTransformation
from eosfw.builtin.transforms.fields.key_or_value import PACKAGE, variants
from eosfw.builtin.transforms.fields.requirements import non_empty_list
from eosfw.builtin.transforms.fields.struct_change import FieldChange, StructChange, kept, struct_like
from eosfw.config import Config, ConfigDef, List, String
from eosfw.config.validators import one_of
from eosfw.data import Field, Schema, SchemaAndValue, StructColumns
from eosfw.data.columns import Column, as_list
from eosfw.errors import ConfigError, DataError, Problem
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["DropHeaders", "HeaderFromKey", "HeaderFromValue", "InsertHeader"]

_Headers = tuple[tuple[str, Any], ...]


class DropHeaders:
    """Removes headers by their names (Kafka Connect's `DropHeaders`)."""

    name: ClassVar[str] = "DropHeaders"
    aliases: ClassVar = (f"{PACKAGE}DropHeaders",)
    config: ClassVar = ConfigDef(
        List("headers", validator=non_empty_list, importance="HIGH", doc="the names of the headers to remove")
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._names = frozenset(config["headers"])

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with the headers that are left."""
        return replace(record, headers=self._left(record.headers)) if record.headers else record

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        """The batch with the headers that are left."""
        if batch.headers is None:
            return batch
        left = [self._left(one) for one in batch.headers]
        return replace(batch, headers=left if any(left) else None)

    def _left(self, headers: _Headers) -> _Headers:
        return tuple(one for one in headers if one[0] not in self._names)


class InsertHeader:
    """Adds a header with a fixed value (Kafka Connect's `InsertHeader`)."""

    name: ClassVar[str] = "InsertHeader"
    aliases: ClassVar = (f"{PACKAGE}InsertHeader",)
    config: ClassVar = ConfigDef(
        String("header", doc="the name of the header"),
        String("value.literal", doc="its value, read as SimpleHeaderConverter reads it", may_be_empty=True),
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._header: _Headers = ((config["header"], parse_string(config["value.literal"].strip())),)

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with one header more."""
        return replace(record, headers=record.headers + self._header)

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        """The batch with one header more for each record."""
        if batch.headers is None:
            return replace(batch, headers=[self._header] * len(batch))
        return replace(batch, headers=[one + self._header for one in batch.headers])


class HeaderFrom(FieldTransformation):
    """Copies or moves fields to headers (Kafka Connect's `HeaderFrom`)."""

    passes_null: ClassVar[bool] = False
    config: ClassVar = ConfigDef(
        List("fields", validator=non_empty_list, importance="HIGH", doc="the fields to copy or move"),
        List("headers", validator=non_empty_list, importance="HIGH", doc="the names of their headers, in this order"),
        String("operation", doc="move or copy", validator=one_of("move", "copy")),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        fields, headers = config["fields"], config["headers"]
        if len(fields) != len(headers):
            wrong = "'fields' config must have the same number of elements as 'headers' config."
            raise ConfigError(Problem("", wrong))
        self._headers: Sequence[tuple[str, str]] = list(zip(fields, headers, strict=True))
        self._moved = frozenset(fields) if config["operation"] == "move" else frozenset()
        self.purpose = f"header {config['operation']}"  # type: ignore[misc]  # as Connect's messages name it
        self._replace_null = config["replace.null.with.default"]
        self.remember()

    def apply(self, record: SourceRecord) -> SourceRecord:
        made = super().apply(record)
        schema = record.key_schema if self.part == "key" else record.value_schema
        value = record.key if self.part == "key" else record.value
        return replace(made, headers=record.headers + self._made(schema, value))

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        made = super().apply_batch(batch)
        schema = batch.key_schema if self.part == "key" else batch.value_schema
        column: Column = batch.values if self.part == "value" else batch.keys or ()
        added = self._made_column(schema, column)
        if batch.headers is None:
            return replace(made, headers=added)
        return replace(made, headers=[one + more for one, more in zip(batch.headers, added, strict=True)])

    def changed_map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in value.items() if name not in self._moved}

    def change_for(self, schema: Schema) -> StructChange:
        left = [one for one in schema.fields if one.name not in self._moved]
        replace_null = self._replace_null and bool(self._moved)
        changes = {one.name: kept(one, replace_null=replace_null) for one in left}
        return StructChange(struct_like(schema, left) if self._moved else schema, changes)

    def _made(self, schema: Schema | None, value: Mapping[str, Any]) -> _Headers:
        if schema is None:
            return tuple((header, value.get(field)) for field, header in self._headers)
        return tuple((header, SchemaAndValue(one, change.of(value))) for header, one, change in self._sources(schema))

    def _made_column(self, schema: Schema | None, column: Column) -> Sequence[_Headers]:
        if schema is None or not isinstance(column, StructColumns):
            return [self._made(schema, one) for one in column]
        sources = list(self._sources(schema))
        values = [as_list(change.of_columns(column.columns)) for _, _, change in sources]
        return [
            tuple((header, SchemaAndValue(one, value)) for (header, one, _), value in zip(sources, row, strict=True))
            for row in zip(*values, strict=True)
        ]

    def _sources(self, schema: Schema) -> Iterator[tuple[str, Schema, FieldChange]]:
        for field, header in self._headers:
            found = schema.field(field)
            if found is None:
                raise DataError(f"Field does not exist: {field}")
            yield header, found, kept(Field(field, found), replace_null=self._replace_null)


HeaderFromKey, HeaderFromValue = variants(HeaderFrom)
