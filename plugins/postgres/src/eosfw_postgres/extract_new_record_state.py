"""The transformation that makes flat records of Debezium's envelopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

from eosfw.config import Boolean, Choice, Config, ConfigDef, List, String
from eosfw.data import (
    STRING,
    ArrowValues,
    Field,
    RepeatedValue,
    Schema,
    SchemaAndValue,
    StructColumns,
    default_of,
    is_arrow,
)
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["ExtractNewRecordState"]

_DELETED = "__deleted"
_OF_TRANSACTION = {"id", "total_order", "data_collection_order"}
_OF_ENVELOPE = {"op", "ts_ms", "ts_us", "ts_ns"}
_REWRITES = ("rewrite", "rewrite-with-tombstone")
_SCHEMAS = 64


@dataclass(frozen=True, slots=True)
class _Reference:
    """A field of the envelope that is added to records or headers."""

    struct: str | None
    """The struct in the envelope that has it; None for the envelope itself."""
    field: str
    name: str
    """Its new name."""

    @classmethod
    def parse(cls, prefix: str, text: str) -> _Reference:
        path, _, name = text.partition(":")
        struct, dot, field = path.rpartition(".")
        if dot:
            return cls(struct, field, prefix + (name or f"{struct}_{field}"))
        inside = None if path in _OF_ENVELOPE else "transaction" if path in _OF_TRANSACTION else "source"
        return cls(inside, path, prefix + (name or path))

    def schema(self, envelope: Schema) -> Schema | None:
        """The schema of the field, optional and without its default; None if there is no such field."""
        part = envelope if self.struct is None else envelope.field(self.struct)
        found = (part and part.field(self.field)) or envelope.field(self.field)
        return None if found is None else replace(found, optional=True, default=None)

    def value(self, envelope: dict[str, Any]) -> Any:
        """The value of the field; None where the struct is null."""
        part = envelope if self.struct is None else envelope.get(self.struct)
        if part is None:
            return None
        return part[self.field] if self.field in part else envelope.get(self.field)


class ExtractNewRecordState:
    """Makes the row after a change the whole value, as Debezium's `ExtractNewRecordState`."""

    name: ClassVar[str] = "ExtractNewRecordState"
    aliases: ClassVar[tuple[str, ...]] = ("io.debezium.transforms.ExtractNewRecordState",)
    config: ClassVar[ConfigDef] = ConfigDef(
        Choice(
            "delete.tombstone.handling.mode",
            default="tombstone",
            among=("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"),
            doc="what becomes of deleted rows and of tombstones; `rewrite` adds `__deleted` to every record",
        ),
        List("add.fields", default=(), doc="fields of the envelope to add to the value: op,source.lsn:lsn,..."),
        String("add.fields.prefix", default="__", may_be_empty=True, doc="what their names begin with"),
        List("add.headers", default=(), doc="fields of the envelope to add as headers"),
        String("add.headers.prefix", default="__", may_be_empty=True, doc="what their names begin with"),
        String("route.by.field", default="", may_be_empty=True, doc="the column whose value becomes the topic"),
        Boolean("replace.null.with.default", default=True, doc="with rewrite: the default of a field replaces null"),
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._mode: str = config["delete.tombstone.handling.mode"]
        self._fields = [_Reference.parse(config["add.fields.prefix"], one) for one in config["add.fields"]]
        self._headers = [_Reference.parse(config["add.headers.prefix"], one) for one in config["add.headers"]]
        self._route: str = config["route.by.field"]
        self._replace_null: bool = config["replace.null.with.default"]
        self._flat = lru_cache(maxsize=_SCHEMAS)(self._flat_schema)

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """The flat record; None for one that is dropped. What is no envelope passes as it is."""
        if record.value is None:
            return self._tombstone(record)
        schema = record.value_schema
        if schema is None or not _is_envelope(schema):
            return record
        envelope = record.value
        headers = record.headers + tuple(
            (one.name, SchemaAndValue(kind, one.value(envelope)))
            for one in self._headers
            if (kind := one.schema(schema)) is not None
        )
        if envelope["after"] is None:
            return self._deleted(replace(record, headers=headers), schema)
        row = self._row(envelope["after"], schema, "false")
        return self._made(replace(record, headers=headers), schema, row, row)

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch | None:
        """The same by columns; DataError where a record is another than the rows that were created or changed."""
        values: Sequence[Any] = batch.values
        schema = batch.value_schema
        one_by_one = self._headers or self._route
        if one_by_one or schema is None or not _is_envelope(schema) or not isinstance(values, StructColumns):
            raise DataError("only envelopes that are columns are changed by columns")
        columns = _columns(values.columns["after"], schema)
        if self._mode in _REWRITES:
            if self._replace_null:
                columns = _without_nulls(columns, schema)
            columns[_DELETED] = RepeatedValue("false", len(batch))
        for one in self._fields:
            if one.schema(schema) is not None:
                columns[one.name] = _column(values, one)
        flat: Any = values.with_columns(columns)
        return replace(batch, values=flat, value_schema=self._flat(schema))

    def _tombstone(self, record: SourceRecord) -> SourceRecord | None:
        if self._mode != "rewrite-with-tombstone":
            return None
        added = tuple((one.name, SchemaAndValue(STRING, "d")) for one in self._headers if one.field == "op")
        return replace(record, headers=record.headers + added)

    def _deleted(self, record: SourceRecord, schema: Schema) -> SourceRecord | None:
        before = record.value["before"]
        if before is None or self._mode == "drop":  # a truncation has neither row
            return None
        if self._mode in _REWRITES:
            return self._made(record, schema, self._row(before, schema, "true"), before)
        # Debezium leaves the schema of the row, with which Kafka Connect's JSON converter writes a null.
        return self._routed(replace(record, value=None, value_schema=None), before)

    def _row(self, row: dict[str, Any], schema: Schema, deleted: str) -> dict[str, Any]:
        if self._mode not in _REWRITES:
            return dict(row)
        kind = schema.field("after")
        if self._replace_null and kind is not None and None in row.values():
            row = {one.name: default_of(one.schema) if row[one.name] is None else row[one.name] for one in kind.fields}
        return {**row, _DELETED: deleted}

    def _made(
        self, record: SourceRecord, schema: Schema, row: dict[str, Any], routed_by: dict[str, Any]
    ) -> SourceRecord:
        for one in self._fields:
            if one.schema(schema) is not None:
                row[one.name] = one.value(record.value)
        return self._routed(replace(record, value=row, value_schema=self._flat(schema)), routed_by)

    def _routed(self, record: SourceRecord, row: dict[str, Any]) -> SourceRecord:
        topic = row.get(self._route) if self._route else None
        return replace(record, topic=topic) if topic else record

    def _flat_schema(self, schema: Schema) -> Schema:
        """The schema of flat records."""
        row = schema.field("after")
        if row is None:
            raise DataError("an envelope has no field `after`")
        deleted = [Field(_DELETED, STRING.as_optional())] if self._mode in _REWRITES else []
        added = [Field(one.name, kind) for one in self._fields if (kind := one.schema(schema)) is not None]
        return replace(row, optional=False, default=None, fields=(*row.fields, *deleted, *added))


def _is_envelope(schema: Schema) -> bool:
    return (schema.name or "").endswith(".Envelope")


def _columns(after: Sequence[Any], schema: Schema) -> dict[str, Sequence[Any]]:
    """The columns of the rows after the changes; DataError if there are none, as of deleted rows."""
    if isinstance(after, StructColumns):
        return dict(after.columns)
    row = schema.field("after")
    if row is None or set(map(type, after)) != {dict}:
        raise DataError("deleted rows are changed one by one")
    return {name: [one[name] for one in after] for name in row.names}


def _without_nulls(columns: dict[str, Sequence[Any]], schema: Schema) -> dict[str, Sequence[Any]]:
    """The columns, defaults in the place of nulls."""
    row = schema.field("after")
    made = dict(columns)
    for one in row.fields if row is not None else ():
        default = default_of(one.schema)
        if default is not None:
            column = columns[one.name]
            values = ArrowValues(column) if is_arrow(column) else column
            made[one.name] = [default if value is None else value for value in values]
    return made


def _column(values: StructColumns, reference: _Reference) -> Sequence[Any]:
    """The column of a field that is added."""
    if reference.struct is None:
        return values.columns[reference.field]
    part = values.columns[reference.struct]
    if isinstance(part, StructColumns) and reference.field in part.columns:
        return part.columns[reference.field]
    return [reference.value(one) for one in values]
