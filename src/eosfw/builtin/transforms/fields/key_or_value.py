"""Transformations of a key or a value, each of which is two classes (such as Kafka Connect's `Cast$Key`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, TypeVar, cast

from eosfw.data import Schema, SchemaAndValue
from eosfw.data.columns import Column
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["PACKAGE", "KeyOrValueTransformation", "SchemaAndColumn", "variants", "without_nulls"]

PACKAGE = "org.apache.kafka.connect.transforms."
SchemaAndColumn = tuple[Schema | None, Column]
"""Keys or values of a batch, with the schema of all of them."""


class KeyOrValueTransformation:
    """Changes keys or values; a subclass says how, and `variants` makes the classes for both."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]]
    part: ClassVar[Literal["key", "value"]]

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with another key or value."""
        if self.part == "key":
            given = SchemaAndValue(record.key_schema, record.key)
            made = self.changed(given, record)
            return record if made is given else replace(record, key_schema=made.schema, key=made.value)
        given = SchemaAndValue(record.value_schema, record.value)
        made = self.changed(given, record)
        return record if made is given else replace(record, value_schema=made.schema, value=made.value)

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        """The batch with other keys or values."""
        if self.part == "value":
            schema, column = self.changed_column(batch.value_schema, batch.values, batch)
            return replace(batch, value_schema=schema, values=column)
        keys: Sequence[Any] = [None] * len(batch) if batch.keys is None else batch.keys
        schema, column = self.changed_column(batch.key_schema, keys, batch)
        # As a batch is made of records: no column if there is no key.
        none = isinstance(column, list) and column.count(None) == len(column)
        return replace(batch, key_schema=schema, keys=None if none else column)

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        """What becomes of a key or value; `given` itself if it stays as it is."""
        raise NotImplementedError

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        """What becomes of a column of keys or values: the same as `changed` makes of each."""
        raise NotImplementedError


_Kind = TypeVar("_Kind", bound=KeyOrValueTransformation)


def variants(kind: type[_Kind]) -> Iterator[type[_Kind]]:
    """The class for keys, then that for values, of a transformation."""
    for part in ("Key", "Value"):
        name = f"{kind.__name__}${part}"
        members = {
            "name": name,
            "aliases": (f"{PACKAGE}{name}",),
            "part": part.lower(),
            "__doc__": kind.__doc__,
            "__module__": kind.__module__,
        }
        yield cast("type[_Kind]", type(f"{kind.__name__}{part}", (kind,), members))


def without_nulls(column: Column) -> Column:
    """The column; DataError if it holds nulls, which keep their schema when all others get another one."""
    # Then `apply` is asked for each record, and the records with each schema are sent in batches of their own.
    if isinstance(column, list) and None in column:
        raise DataError("nulls among structs keep their schema")
    if getattr(column, "null_count", 0):
        raise DataError("nulls among structs keep their schema")
    return column
