"""The transformation that adds fields of a record's metadata, or fixed ones, to its key or value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, ClassVar, NamedTuple

from eosfw.builtin.java.times import timestamp_of
from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, FieldTransformation
from eosfw.builtin.transforms.fields.key_or_value import SchemaAndColumn, variants
from eosfw.builtin.transforms.fields.struct_change import StructChange, kept, struct_like
from eosfw.config import Config, ConfigDef, String
from eosfw.data import INT32, STRING, TIMESTAMP, Field, Schema, SchemaAndValue, StructColumns
from eosfw.data.columns import Column
from eosfw.errors import ConfigError, Problem
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["InsertFieldKey", "InsertFieldValue"]

_FIELDS = ("topic.field", "partition.field", "offset.field", "timestamp.field", "static.field")
_MARK = "; ends in ! if the field is required, in ? if it is optional (the default)"


@dataclass(frozen=True, slots=True)
class _Insertion:
    """A field that is added."""

    name: str
    schema: Schema

    @classmethod
    def parse(cls, text: str | None, schema: Schema) -> _Insertion | None:
        if text is None:
            return None
        name = text[:-1] if text[-1:] in ("!", "?") else text
        return cls(name, schema if text.endswith("!") else schema.as_optional())


class _Inserted(NamedTuple):
    """The fields that are the same for many records, before and behind that for the timestamp."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    typed: bool
    """Whether there is a schema."""


class InsertField(FieldTransformation):
    """Adds the topic, the partition, the timestamp or a fixed text (Kafka Connect's `InsertField`)."""

    purpose: ClassVar[str] = "field insertion"
    config: ClassVar = ConfigDef(
        String("topic.field", None, f"field for the topic{_MARK}"),
        String("partition.field", None, f"field for the partition, if the record names one{_MARK}"),
        String("offset.field", None, "field for the offset: for sink connectors alone, so refused"),
        String("timestamp.field", None, f"field for the timestamp, if the record has one{_MARK}"),
        String("static.field", None, f"field for `static.value`{_MARK}"),
        String("static.value", None, "the text of `static.field`", may_be_empty=True),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        if config["offset.field"] is not None:
            raise ConfigError(Problem("", "offset.field is for sink connectors: a source record has no offset yet"))
        if all(config[name] is None for name in _FIELDS):
            raise ConfigError(
                Problem("", f"No field insertion configured: {self.name} needs one of {', '.join(_FIELDS)}")
            )
        if config["static.field"] is not None and config["static.value"] is None:
            raise ConfigError(Problem("", "No value specified for static field: static.field needs static.value"))
        self._topic = _Insertion.parse(config["topic.field"], STRING)
        self._partition = _Insertion.parse(config["partition.field"], INT32)
        self._timestamp = _Insertion.parse(config["timestamp.field"], TIMESTAMP)
        self._static = _Insertion.parse(config["static.field"], STRING)
        self._static_value: str | None = config["static.value"]
        self._replace_null = config["replace.null.with.default"]
        self.remember()

    def changed_map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return dict(value)

    def change_for(self, schema: Schema) -> StructChange:
        added = (self._topic, self._partition, self._timestamp, self._static)
        fields = [*schema.fields, *(Field(one.name, one.schema) for one in added if one is not None)]
        changes = {one.name: kept(one, replace_null=self._replace_null) for one in schema.fields}
        return StructChange(struct_like(schema, fields), changes)

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        made = super().changed(given, record)
        if made is not given:
            self._insert(made.value, self._inserted(record, typed=made.schema is not None), record.timestamp)
        return made

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        if schema is None:
            return None, self._changed_maps(column, batch)
        made_schema, made = super().changed_column(schema, column, batch)
        if isinstance(made, StructColumns):
            return made_schema, made.with_columns({**made.columns, **dict(self._inserted_columns(batch, made))})
        inserted = self._inserted(batch, typed=True)
        stamps = repeat(None) if batch.timestamps is None else batch.timestamps
        for stamp, value in zip(stamps, made, strict=False):
            self._insert(value, inserted, stamp)
        return made_schema, made

    def _changed_maps(self, column: Column, batch: ProducerBatch) -> list[Any]:
        """Mappings without schema, with one expression for each: a call would cost more than what it does."""
        before, after, _ = self._inserted(batch, typed=False)
        maps = [one if type(one) is dict else self._map_or_null(one) for one in column]
        if self._timestamp is None or batch.timestamps is None:
            fixed = {**before, **after}
            return [None if one is None else {**one, **fixed} for one in maps]
        name = self._timestamp.name
        return [
            None if one is None else {**one, **before, name: stamp, **after}
            for one, stamp in zip(maps, batch.timestamps, strict=True)
        ]

    def _inserted(self, place: SourceRecord | ProducerBatch, *, typed: bool) -> _Inserted:
        """What all records of a place get; a struct has all fields, a mapping only those that are not null."""
        before: dict[str, Any] = {}
        if self._topic is not None:
            before[self._topic.name] = place.topic
        if self._partition is not None and (typed or place.partition is not None):
            before[self._partition.name] = place.partition
        return _Inserted(before, {} if self._static is None else {self._static.name: self._static_value}, typed)

    def _insert(self, value: dict[str, Any], inserted: _Inserted, timestamp: int | None) -> None:
        value.update(inserted.before)
        if self._timestamp is not None and (inserted.typed or timestamp is not None):
            typed = inserted.typed and timestamp is not None
            value[self._timestamp.name] = timestamp_of(timestamp or 0) if typed else timestamp
        if inserted.after:
            value.update(inserted.after)

    def _inserted_columns(self, batch: ProducerBatch, values: StructColumns) -> Iterator[tuple[str, Column]]:
        count, by_arrow = len(batch), values.by_arrow
        if self._topic is not None:
            yield self._topic.name, _repeated(self._topic.schema, batch.topic, count, by_arrow=by_arrow)
        if self._partition is not None:
            yield self._partition.name, _repeated(self._partition.schema, batch.partition, count, by_arrow=by_arrow)
        if (one := self._timestamp) is not None and batch.timestamps is not None:
            yield one.name, _timestamps(one.schema, batch.timestamps, by_arrow=by_arrow)
        elif one is not None:
            yield one.name, _repeated(one.schema, None, count, by_arrow=by_arrow)
        if self._static is not None:
            yield self._static.name, _repeated(self._static.schema, self._static_value, count, by_arrow=by_arrow)


def _repeated(schema: Schema, value: Any, count: int, *, by_arrow: bool) -> Column:
    """A new column of one value in the library of the others."""
    if not by_arrow:
        return [value] * count
    from eosfw.builtin.transforms.fields.arrow_columns import repeated_array

    return repeated_array(schema, value, count)


def _timestamps(schema: Schema, milliseconds: Sequence[int], *, by_arrow: bool) -> Column:
    if not by_arrow:
        return list(map(timestamp_of, milliseconds))
    from eosfw.builtin.transforms.fields.arrow_columns import array_of

    return array_of(schema, milliseconds)


InsertFieldKey, InsertFieldValue = variants(InsertField)
