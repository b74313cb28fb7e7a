"""What transformations do with columns that are arrays of Arrow (`pyarrow`); imported with the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from eosfw.data import Schema, StructColumns
from eosfw.data.arrow import arrow_type
from eosfw.data.columns import Column, as_list

__all__ = ["array_of", "array_of_structs", "columns_of_structs", "filled_array", "inner_array"]


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
