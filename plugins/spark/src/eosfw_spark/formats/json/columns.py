"""The reading of many JSON objects at once by Arrow, with the results of `values`, or not at all.

Arrow takes about a tenth of the time of Python's parser. It reads a text of several objects, so what could be read in
two ways is left to the slower parser: each value must begin and end with a brace. Then no object can reach from one
value into the next, since a comma would be missing between a closing and an opening brace, and as many objects as
values means that each value is one. A text that begins with null, which is JSON, too, would crash pyarrow 26.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from eosfw_spark.formats.json.values import Convert, converter
from eosfw_spark.formats.undecodable import UndecodableError

_LARGEST: Final = 1 << 30
"""Bytes of one block, which Arrow counts in 32 bits."""
_CONSTANT: Final = re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")
"""What Arrow takes for a number and JSON does not have; within a text it may look so, too, which only costs time."""


class JsonColumns:
    """Reads a column of JSON objects into columns of one type."""

    def __init__(self, wanted: pa.DataType, *, connect: bool) -> None:
        self._fields = list(wanted)
        self._read = pa.schema([pa.field(each.name, _read_type(each.type, connect=connect)) for each in wanted])
        self._converters: Mapping[str, Convert] = {
            each.name: converter(each.type, connect=connect) for each in wanted if not _same(each.type)
        }
        self._options = arrow_json.ParseOptions(explicit_schema=self._read, unexpected_field_behavior="ignore")

    def read(self, column: pa.Array) -> pa.Array | None:
        """The objects as structs; None if Arrow cannot read all of them for certain."""
        values = column.drop_null()
        if not len(values):
            return pa.nulls(len(column), pa.struct(self._fields))
        if not pc.all(pc.and_(pc.starts_with(values, "{"), pc.ends_with(values, "}"))).as_py():
            return None
        text = b"\n".join(values.to_pylist())
        # The search for two words takes a seventh of the time of the expression.
        if (b"NaN" in text or b"Inf" in text) and _CONSTANT.search(text):
            return None
        try:
            text.decode("utf-8")
            table = arrow_json.read_json(
                pa.py_buffer(text),
                read_options=arrow_json.ReadOptions(use_threads=False, block_size=min(len(text) + 1, _LARGEST)),
                parse_options=self._options,
            )
            if len(text) >= _LARGEST or table.num_rows != len(values):
                return None
            found = [self._converted(each, table.column(each.name).combine_chunks()) for each in self._fields]
        except (ValueError, TypeError, OverflowError, pa.ArrowException, UndecodableError):
            return None
        return _with_nulls(pa.StructArray.from_arrays(found, fields=self._fields), column)

    def _converted(self, field: pa.Field, read: pa.Array) -> pa.Array:
        convert = self._converters.get(field.name)
        if convert is None:
            return read
        return pa.array([convert(value) for value in read.to_pylist()], field.type)


def can_read(wanted: pa.DataType, *, connect: bool) -> bool:
    """Whether Arrow reads objects of this type as `values` does."""
    return (
        pa.types.is_struct(wanted)
        and wanted.num_fields > 0
        and all(_same(each.type) or _read_type(each.type, connect=connect) is not None for each in wanted)
    )


def _same(wanted: pa.DataType) -> bool:
    """Whether Arrow itself reads the type: no other value of JSON passes for one."""
    types = pa.types
    if types.is_struct(wanted):
        return wanted.num_fields > 0 and all(_same(each.type) for each in wanted)
    if types.is_list(wanted):
        return _same(wanted.value_type)
    return types.is_boolean(wanted) or types.is_integer(wanted) or wanted in (pa.string(), pa.float64())


def _read_type(wanted: pa.DataType, *, connect: bool) -> pa.DataType | None:
    """As what Arrow reads a column whose values are then converted; None if there is nothing."""
    types = pa.types
    if _same(wanted):
        return wanted
    if wanted == pa.float32():
        return pa.float64()  # to be rounded once, as a number of Python is
    if types.is_date(wanted):
        return pa.int32() if connect else pa.string()
    if types.is_timestamp(wanted):
        return pa.int64() if connect else pa.string()
    return pa.string() if types.is_decimal(wanted) or types.is_binary(wanted) else None


def _with_nulls(read: pa.Array, column: pa.Array) -> pa.Array:
    if not column.null_count:
        return read
    valid = column.is_valid()
    places = pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1)
    return read.take(pc.if_else(valid, places, pa.scalar(None, pa.int64())))
