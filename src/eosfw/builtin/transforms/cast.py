"""The transformation that casts keys, values or their fields to other types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, cast

from eosfw.builtin.connect_text import convert_to_string
from eosfw.builtin.java.numbers import integral, parse_float, parse_integer, single
from eosfw.builtin.java.times import logical_number
from eosfw.builtin.transforms.fields.field_transformation import REPLACE_NULL, FieldTransformation
from eosfw.builtin.transforms.fields.inferred_types import inferred_type
from eosfw.builtin.transforms.fields.key_or_value import SchemaAndColumn, variants
from eosfw.builtin.transforms.fields.struct_change import StructChange, kept, struct_like
from eosfw.config import Config, ConfigDef, List
from eosfw.data import ArrowValues, Field, Schema, SchemaAndValue, Type, default_of
from eosfw.data.columns import Column, as_list
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, SourceRecord

__all__ = ["CastKey", "CastValue"]

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_OUTPUTS = (*_BITS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING)
_INPUTS = (*_OUTPUTS, Type.BYTES)


def parse_spec(items: tuple[str, ...]) -> Mapping[str | None, Type]:
    """The fields with the types to which they are cast; the whole value is the field None."""
    made: dict[str | None, Type] = {}
    for item in items:
        field, colon, kind = item.partition(":")
        if ":" in kind:
            raise ValueError(f"Invalid rename mapping: {item}")
        if not kind:  # as Java splits texts: what is behind the last colon may be missing
            colon, kind = "", field
        made[field.strip() if colon else None] = _output_type(kind.strip())
    if None in made and len(items) > 1:
        raise ValueError(
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec"
        )
    return made


def _output_type(word: str) -> Type:
    try:
        kind = Type(word.lower())
    except ValueError:
        raise ValueError(f"Invalid type found in casting spec: {word}") from None
    if kind not in _OUTPUTS:
        raise ValueError(f"Cast transformation does not support casting to {kind.name}; {_supported(_OUTPUTS)}")
    return kind


def _supported(kinds: tuple[Type, ...]) -> str:
    return f"supported types are [{', '.join(one.name for one in kinds)}]"


@dataclass(frozen=True, slots=True)
class _Spec(List):
    """Fields with types, as FIELD:TYPE, or a type alone."""

    def parse(self, text: str) -> Mapping[str | None, Type]:  # type: ignore[override]
        items = List.parse(self, text)
        if not items:
            raise ValueError("Must specify at least one field to cast.")
        return parse_spec(items)


class Cast(FieldTransformation):
    """Casts fields, or the whole key or value, to other types (Kafka Connect's `Cast`)."""

    purpose: ClassVar[str] = "cast types"
    config: ClassVar = ConfigDef(
        _Spec(
            "spec",
            doc="FIELD:TYPE,..., or one TYPE for the whole: int8, int16, int32, int64, float32, float64, boolean, "
            "string; bytes can be cast to string alone, as Base64",
            importance="HIGH",
        ),
        REPLACE_NULL,
    )

    def configure(self, config: Config) -> None:
        """Take the properties."""
        self._casts: Mapping[str | None, Type] = config["spec"]
        self._whole = self._casts.get(None)
        self._replace_null = config["replace.null.with.default"]
        self.remember()

    def changed(self, given: SchemaAndValue, record: SourceRecord) -> SchemaAndValue:
        schema, value = given
        if value is None or (self._whole is None and _is_struct(schema)):
            return super().changed(given, record)
        if self._whole is None:
            raise DataError("Cannot list fields on non-struct type")
        made = cast_value(schema, value, self._whole)
        return SchemaAndValue(None if schema is None else _cast_schema(schema, self._whole), made)

    def changed_column(self, schema: Schema | None, column: Column, batch: ProducerBatch) -> SchemaAndColumn:
        whole = self._whole
        if whole is None:
            return super().changed_column(schema, column, batch)
        if schema is not None and isinstance(column, ArrowValues) and not column.null_count:
            array = _cast_array(whole, cast("Column", column.array))
            if array is not None:
                return _cast_schema(schema, whole), ArrowValues(cast("Any", array))
        values = as_list(column)
        if schema is None:
            return None, [cast_value(None, one, whole) for one in values]
        if None in values:
            raise DataError("nulls keep their schema")
        return _cast_schema(schema, whole), [cast_value(schema, one, whole) for one in values]

    def changed_map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {**value, **{name: _cast_field(name, None, kind, value.get(name)) for name, kind in self._named()}}

    def change_for(self, schema: Schema) -> StructChange:
        fields, changes = [], {}
        for one in schema.fields:
            kind = self._casts.get(one.name)
            fields.append(one if kind is None else Field(one.name, _cast_field_schema(one, kind)))
            convert = None if kind is None else partial(_cast_field, one.name, one.schema, kind)
            of_array = None if kind is None else partial(_cast_array, kind)
            changes[one.name] = kept(one, replace_null=self._replace_null, convert=convert, convert_array=of_array)
        made = struct_like(schema, fields)
        # Kafka Connect refuses a default of the whole struct, which it would cast.
        cast_value(schema, default_of(schema), Type.STRING)
        return StructChange(replace(made, optional=schema.optional), changes)

    def _named(self) -> list[tuple[str, Type]]:
        return [(name, kind) for name, kind in self._casts.items() if name is not None]


def _is_struct(schema: Schema | None) -> bool:
    return schema is None or schema.type is Type.STRUCT


def _cast_field(name: str, schema: Schema | None, kind: Type, value: Any) -> Any:
    try:
        return cast_value(schema, value, kind)
    except DataError as why:
        raise DataError(f"field {name!r}: {why}") from None


def _cast_array(kind: Type, column: Column) -> Column | None:
    from eosfw.builtin.transforms.fields.arrow_columns import cast_array

    return cast_array(kind, column)


def _cast_field_schema(field: Field, kind: Type) -> Schema:
    default = _cast_field(field.name, field.schema, kind, default_of(field.schema))
    return Schema(kind, optional=field.schema.optional, default=default)


def _cast_schema(schema: Schema, kind: Type) -> Schema:
    """The schema of a whole value that is cast; a name stays, though it may be that of a logical type."""
    return Schema(
        kind,
        optional=schema.optional,
        default=cast_value(schema, default_of(schema), kind),
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters,
    )


def cast_value(schema: Schema | None, value: Any, kind: Type) -> Any:
    """A value as Java casts it; DataError, without the value, if it cannot be."""
    if value is None:
        return None
    given = inferred_type(value) if schema is None else schema.type
    if given is None:
        shown = type(value).__name__
        wrong = f"Cast transformation was passed a value of type {shown} which is not supported by Connect's data API"
        raise DataError(wrong)
    if given not in _INPUTS:
        raise DataError(f"Cast transformation does not support casting from {given.name}; {_supported(_INPUTS)}")
    if kind is Type.STRING:
        return convert_to_string(schema, value)
    if isinstance(value, (date, time)):
        value = logical_number(value)
    try:
        return _CASTS[kind](value)
    except DataError:
        raise
    except ValueError:
        raise DataError("Value was out of range for requested data type") from None


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, str):
        return parse_integer(value, bits)
    return integral(_number(value), bits)


def _floating(value: Any, *, is_single: bool) -> float:
    if isinstance(value, str):
        return parse_float(value, is_single=is_single)
    number = _number(value)
    return single(number) if is_single else float(number)


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() == "true"
    return integral(_number(value), 64) != 0


def _number(value: Any) -> float | Decimal:
    if isinstance(value, (int, float, Decimal)):
        return value
    raise DataError(f"Unexpected type in Cast transformation: {type(value).__name__}")


_CASTS: Mapping[Type, Callable[[Any], Any]] = {
    **{kind: partial(_integer, bits=bits) for kind, bits in _BITS.items()},
    Type.FLOAT32: partial(_floating, is_single=True),
    Type.FLOAT64: partial(_floating, is_single=False),
    Type.BOOLEAN: _boolean,
}

CastKey, CastValue = variants(Cast)
