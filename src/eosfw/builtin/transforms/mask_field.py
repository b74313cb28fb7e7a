"""The transformation that hides the values of fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

from eosfw.builtin.java.numbers import decimal_of, integral, single
from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, FieldTransformation
from eosfw.builtin.transforms.fields.key_or_value import variants
from eosfw.builtin.transforms.fields.requirements import non_empty_list
from eosfw.builtin.transforms.fields.struct_change import StructChange, kept
from eosfw.config import Config, ConfigDef, List, String
from eosfw.data import DATE, TIME, TIMESTAMP, Schema, Type, fitted
from eosfw.data.columns import Column
from eosfw.errors import DataError

__all__ = ["MaskFieldKey", "MaskFieldValue"]

_ZEROS: Mapping[type, Any] = {
    bool: False,
    int: 0,
    float: 0.0,
    Decimal: Decimal(0),
    date: date(1970, 1, 1),
    time: time(),
    datetime: datetime(1970, 1, 1, tzinfo=UTC),
    str: "",
}
_EMPTY: Mapping[type, Callable[[], Any]] = {list: list, dict: dict}
_DATES = (DATE.name, TIME.name, TIMESTAMP.name)


class MaskField(FieldTransformation):
    """Replaces the values of fields by zeros, empty texts, or one replacement (Kafka Connect's `MaskField`)."""

    purpose: ClassVar[str] = "mask fields"
    passes_null: ClassVar[bool] = False
    config: ClassVar = ConfigDef(
        List("fields", validator=non_empty_list, importance="HIGH", doc="names of fields to mask"),
        String("replacement", None, "what stands in their place, for numbers and texts alone", importance="LOW"),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._fields: tuple[str, ...] = config["fields"]
        self._replacement: str | None = config["replacement"]
        self._replace_null = config["replace.null.with.default"]
        self.remember()

    def changed_map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {**value, **{name: self._masked(None, value.get(name)) for name in self._fields}}

    def change_for(self, schema: Schema) -> StructChange:
        changes = {}
        for one in schema.fields:
            if one.name in self._fields:
                convert, of_array = partial(self._masked, one.schema), partial(self._masked_array, one.schema)
                changes[one.name] = kept(one, replace_null=self._replace_null, convert=convert, convert_array=of_array)
            else:
                changes[one.name] = kept(one, replace_null=self._replace_null)
        return StructChange(schema, changes)

    def _masked_array(self, schema: Schema, column: Column) -> Column | None:
        from eosfw.builtin.transforms.fields.arrow_columns import array_of_one

        return array_of_one(schema, column, partial(self._masked, schema))

    def _masked(self, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return None
        if self._replacement is None:
            return _zero(schema, value)
        return _replaced(schema, value, self._replacement)


def _zero(schema: Schema | None, value: Any) -> Any:
    kind = type(value)
    if kind in _EMPTY and (schema is None or schema.type is not Type.STRUCT):
        return _EMPTY[kind]()
    if kind not in _ZEROS:
        raise DataError(f"Cannot mask value of type: {kind.__name__}")
    return _fitted(schema, _ZEROS[kind])


def _replaced(schema: Schema | None, value: Any, replacement: str) -> Any:
    kind = type(value)
    if kind is str:
        return replacement
    convert = (
        None if kind is bool else _CONVERSIONS.get(kind if schema is None or schema.name in _DATES else schema.type)
    )
    if kind is Decimal:
        convert = decimal_of
    if convert is None:
        raise DataError(f"Cannot mask value of type {kind.__name__} with custom replacement.")
    try:
        made = convert(replacement)
    except ValueError:
        what = "number" if kind is Decimal else "a number"
        raise DataError(f"Unable to convert {replacement} (str) to {what}") from None
    return _fitted(schema, made)


def _fitted(schema: Schema | None, value: Any) -> Any:
    """The value; a Decimal with as many digits behind the point as its schema has, which converters demand."""
    return fitted(schema, value) if schema is not None and type(value) is Decimal else value


def _integer(bits: int) -> Callable[[str], int]:
    return lambda text: integral(decimal_of(text), bits)


def _double(text: str) -> float:
    return float(decimal_of(text))


_CONVERSIONS: Mapping[Any, Callable[[str], Any]] = {
    Type.INT8: _integer(8),
    Type.INT16: _integer(16),
    Type.INT32: _integer(32),
    Type.INT64: _integer(64),
    int: _integer(64),
    Type.FLOAT32: lambda text: single(decimal_of(text)),
    Type.FLOAT64: _double,
    float: _double,
}

MaskFieldKey, MaskFieldValue = variants(MaskField)
