"""The transformation that converts timestamps between texts, numbers, Date, Time and Timestamp."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, time
from functools import partial
from typing import Any, ClassVar

from eosfw.builtin.java.simple_date_format import SimpleDateFormat
from eosfw.builtin.java.times import date_of, millis, time_of, timestamp_of
from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, FieldTransformation
from eosfw.builtin.transforms.fields.key_or_value import SchemaAndColumn, variants
from eosfw.builtin.transforms.fields.requirements import kind_of, require_struct, shown_schema
from eosfw.builtin.transforms.fields.struct_change import StructChange, kept, struct_like
from eosfw.config import Config, ConfigDef, String
from eosfw.config.validators import one_of
from eosfw.data import DATE, INT64, STRING, TIME, TIMESTAMP, Field, Schema, SchemaAndValue, Type, default_of
from eosfw.data.columns import Column, as_list
from eosfw.errors import ConfigError, DataError, Problem
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["TimestampConverterKey", "TimestampConverterValue"]

_TARGETS: Mapping[str, Schema] = {"string": STRING, "unix": INT64, "Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP}
_LOGICAL = frozenset((DATE.name, TIME.name, TIMESTAMP.name))
_PER_SECOND = {"nanoseconds": 10**9, "microseconds": 10**6, "milliseconds": 1000, "seconds": 1}
_LONGEST = 2**63 - 1
_FORMAT_MISSING = "TimestampConverter requires format option to be specified when using string timestamps"


@dataclass(frozen=True, slots=True)
class _Format(String):
    """A pattern of Java's `SimpleDateFormat`; None if it is blank."""

    def parse(self, text: str) -> SimpleDateFormat | None:  # type: ignore[override]
        if not text.strip():
            return None
        try:
            return SimpleDateFormat(text)
        except ValueError as why:
            wrong = "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps"
            raise ValueError(f"{wrong}: {why}") from None


class TimestampConverter(FieldTransformation):
    """Converts a field, or the whole key or value, to another kind of timestamp (Connect's `TimestampConverter`)."""

    purpose: ClassVar[str] = "converting timestamp formats"
    config: ClassVar = ConfigDef(
        String("field", "", "the field; empty for the whole key or value", may_be_empty=True, importance="HIGH"),
        String("target.type", doc="string, unix, Date, Time or Timestamp", validator=one_of(*_TARGETS)),
        _Format("format", None, "how texts are read and written, as a pattern of Java's SimpleDateFormat, in UTC"),
        String(
            "unix.precision",
            "milliseconds",
            "what numbers count: nanoseconds, microseconds, milliseconds or seconds",
            validator=one_of(*_PER_SECOND),
            importance="LOW",
        ),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._field: str = config["field"]
        self._target: str = config["target.type"]
        self._format: SimpleDateFormat | None = config["format"]
        self._per_second = _PER_SECOND[config["unix.precision"]]
        self._replace_null = config["replace.null.with.default"]
        if self._target == "string" and self._format is None:
            raise ConfigError(Problem("", _FORMAT_MISSING))
        self.remember()

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        schema, value = given
        if schema is None:
            return super().changed(given, record) if self._field else SchemaAndValue(None, self._converted(None, value))
        if not self._field:
            return SchemaAndValue(self._type_schema(schema), self._converted(schema, value))
        if value is None:
            return SchemaAndValue(self._change(schema).schema, None)
        whole = require_struct(schema, value, self.purpose)
        self._require_field(schema)
        change = self._change(schema)
        return SchemaAndValue(change.schema, change.row(whole))

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        if not self._field:
            made = None if schema is None else self._type_schema(schema)
            return made, [self._converted(schema, one) for one in as_list(column)]
        if schema is None:
            return super().changed_column(schema, column, batch)
        if schema.type is not Type.STRUCT:
            require_struct(schema, column[0], self.purpose)
        self._require_field(schema)
        change = self._change(schema)
        return change.schema, change.column(column)

    def changed_map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {**value, self._field: self._converted(None, value.get(self._field))}

    def change_for(self, schema: Schema) -> StructChange:
        if schema.type is not Type.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        fields, changes = [], {}
        for one in schema.fields:
            is_it = one.name == self._field
            fields.append(Field(one.name, self._type_schema(one.schema)) if is_it else one)
            convert = partial(self._converted, one.schema) if is_it else None
            changes[one.name] = kept(one, replace_null=self._replace_null, convert=convert)
        made = StructChange(struct_like(schema, fields), changes)
        default = default_of(schema)
        if default is not None:
            self._require_field(schema)
        whole = replace(made.schema, optional=schema.optional, default=None if default is None else made.row(default))
        return StructChange(whole, changes)

    def _require_field(self, schema: Schema) -> None:
        """Refuse a field of a type that is none of a timestamp, also where it is null: its schema would change."""
        found = schema.field(self._field)
        if found is not None:
            _require_timestamp(found)

    def _type_schema(self, schema: Schema) -> Schema:
        made = _TARGETS[self._target]
        return made.as_optional() if schema.optional else made

    def _converted(self, schema: Schema | None, value: Any) -> Any:
        """A timestamp as the target has it; DataError, without the value, if it is none."""
        if schema is not None:
            _require_timestamp(schema)
        if value is None:
            return None
        try:
            return _MAKE[self._target](self, self._millis(value))
        except DataError:
            raise
        except ValueError as why:
            raise DataError(str(why)) from None

    def _millis(self, value: Any) -> int:
        if isinstance(value, (date, time)):
            return millis(value)
        if isinstance(value, str):
            return self._parsed(value)
        if type(value) is int:
            return _truncated(value * 1000, self._per_second)
        raise DataError(f"TimestampConverter does not support {kind_of(value)} objects as timestamps")

    def _parsed(self, text: str) -> int:
        if self._format is None:
            raise DataError(_FORMAT_MISSING)
        try:
            return self._format.parse(text)
        except ValueError:
            wrong = f"Could not parse timestamp: value does not match pattern ({self._format.pattern})"
            raise DataError(wrong) from None

    def _text(self, moment: int) -> str:
        assert self._format is not None, "`configure` has checked it"
        return self._format.format(moment)

    def _unix(self, moment: int) -> int:
        return _truncated(moment * self._per_second, 1000)


def _truncated(number: int, divisor: int) -> int:
    """Divide towards zero, within 64 bits, as Java's `TimeUnit` does."""
    made = abs(number) // divisor
    return max(min(made if number >= 0 else -made, _LONGEST), -_LONGEST - 1)


def _require_timestamp(schema: Schema) -> None:
    if schema.name not in _LOGICAL and schema.type not in (Type.STRING, Type.INT64):
        raise DataError(f"Schema {shown_schema(schema)} does not correspond to a known timestamp type format")


_MAKE: Mapping[str, Callable[[TimestampConverter, int], Any]] = {
    "string": TimestampConverter._text,  # noqa: SLF001 of this module
    "unix": TimestampConverter._unix,  # noqa: SLF001
    "Date": lambda _, moment: date_of(moment),
    "Time": lambda _, moment: time_of(moment),
    "Timestamp": lambda _, moment: timestamp_of(moment),
}

TimestampConverterKey, TimestampConverterValue = variants(TimestampConverter)
