"""The transformation that makes a key of fields of the value."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, SCHEMAS
from eosfw.builtin.transforms.fields.key_or_value import PACKAGE
from eosfw.builtin.transforms.fields.requirements import non_empty_list, require_map, require_struct
from eosfw.builtin.transforms.fields.struct_change import StructChange, kept
from eosfw.config import Config, ConfigDef, List
from eosfw.data import Field, Schema, struct
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["ValueToKey"]

_PURPOSE = "copying fields from value to key"


class ValueToKey:
    """Makes the key of fields of the value (Kafka Connect's `ValueToKey`)."""

    name: ClassVar[str] = "ValueToKey"
    aliases: ClassVar = (f"{PACKAGE}ValueToKey",)
    config: ClassVar = ConfigDef(
        List("fields", validator=non_empty_list, importance="HIGH", doc="fields of the value, in the order of the key"),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._fields: tuple[str, ...] = config["fields"]
        self._replace_null = config["replace.null.with.default"]
        self._change = lru_cache(maxsize=SCHEMAS)(self._change_for)

    def apply(self, record: SourceRecord) -> SourceRecord:
        """The record with another key."""
        schema, value = record.value_schema, record.value
        if schema is None:
            return replace(record, key_schema=None, key=self._of_map(value))
        change = self._change_of(schema, value)
        return replace(record, key_schema=change.schema, key=change.row(value))

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch:
        """The batch with other keys."""
        schema, values = batch.value_schema, batch.values
        if schema is None:
            keys: list[Any] = [self._of_map(one) for one in values]
            return replace(batch, key_schema=None, keys=keys)
        if isinstance(values, list) and None in values:
            require_struct(schema, None, _PURPOSE)
        change = self._change_of(schema, values)
        return replace(batch, key_schema=change.schema, keys=change.column(values))

    def _of_map(self, value: object) -> dict[str, object]:
        whole = require_map(value, _PURPOSE)
        return {name: whole.get(name) for name in self._fields}

    def _change_of(self, schema: Schema, value: object) -> StructChange:
        require_struct(schema, value, _PURPOSE)
        return self._change(schema)

    def _change_for(self, schema: Schema) -> StructChange:
        fields = [Field(name, _known(schema, name)) for name in self._fields]
        changes = {one.name: kept(one, replace_null=self._replace_null) for one in fields}
        return StructChange(struct(fields), changes)


def _known(schema: Schema, name: str) -> Schema:
    found = schema.field(name)
    if found is None:
        raise DataError(f"Field does not exist: {name}")
    return found
