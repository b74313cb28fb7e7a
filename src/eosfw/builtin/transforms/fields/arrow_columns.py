"""What transformations do with columns that are arrays of Arrow (`pyarrow`); imported with the first of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from eosfw.builtin.connect_json import java_double
from eosfw.builtin.java.float_columns import float_texts
from eosfw.builtin.java.numbers import float_text
from eosfw.data import Schema, StructColumns, Type
from eosfw.data.arrow import arrow_type, plain_value
from eosfw.data.columns import Column, as_list

__all__ = [
    "array_of",
    "array_of_one",
    "array_of_structs",
    "cast_array",
    "columns_of_structs",
    "filled_array",
    "inner_array",
    "repeated_array",
]


def filled_array(column: Column, default: Any) -> Column:
    """An array with a default where it is null."""
    array = cast("pa.Array", column)
    if not array.null_count:
        return column
    try:
        return cast("Column", array.fill_null(pa.scalar(default, array.type)))
    except pa.ArrowException:  # such as for lists
        return [default if one is None else one for one in as_list(column)]


def inner_array(column: Column, name: str) -> Column:
    """A field of an array of structs; null where the struct is."""
    return cast("Column", pc.struct_field(cast("pa.Array", column), name))


def columns_of_structs(column: Column, names: Sequence[str]) -> StructColumns | None:
    """The fields of an array of structs; None if one is null."""
    array = cast("pa.StructArray", column)
    if array.null_count:
        return None
    return StructColumns(dict(zip(names, array.flatten(), strict=True)), len(array))


def array_of_structs(values: StructColumns) -> Column:
    """An array of structs with these fields, all of them arrays."""
    return cast("Column", pa.StructArray.from_arrays(list(values.columns.values()), list(values.columns)))


def array_of(schema: Schema, column: Sequence[Any]) -> Column:
    """An array of values; those of a Timestamp may be milliseconds."""
    return cast("Column", pa.array(column, arrow_type(schema)))


def repeated_array(schema: Schema, value: Any, count: int) -> Column:
    """An array of one value."""
    return cast("Column", pa.repeat(pa.scalar(value, arrow_type(schema)), count))


def array_of_one(schema: Schema, column: Column, convert: Callable[[Any], Any]) -> Column | None:
    """What `convert` makes of values, if it makes the same of all that are not null; None if that has parts."""
    array = cast("pa.Array", column)
    if not schema.type.is_primitive:
        return None
    if array.null_count == len(array):
        return column
    valid = array.is_valid()
    made = convert(plain_value(array[valid.index(True).as_py()]))
    return cast("Column", pc.if_else(valid, pa.scalar(made, arrow_type(schema)), None))


def cast_array(kind: Type, column: Column) -> Column | None:
    """An array cast to another type as Java does it; None where Arrow does it in another way."""
    array, wanted = cast("pa.Array", column), arrow_type(Schema(kind))
    if pa.types.is_floating(array.type):
        return _cast_floats(kind, array)
    if not (pa.types.is_integer(array.type) or pa.types.is_boolean(array.type)):
        return None
    if kind is Type.BOOLEAN and pa.types.is_integer(array.type):
        return cast("Column", pc.not_equal(array, 0))
    # What does not fit loses its highest bits, as in Java.
    return cast("Column", array.cast(wanted, safe=False))


def _cast_floats(kind: Type, array: pa.Array) -> Column | None:
    if kind is Type.STRING and not array.null_count:
        return cast("Column", float_texts(array, float_text if pa.types.is_float32(array.type) else java_double))
    if kind in (Type.FLOAT32, Type.FLOAT64):
        return cast("Column", array.cast(arrow_type(Schema(kind)), safe=False))
    return None
