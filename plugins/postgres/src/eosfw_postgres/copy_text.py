"""Rows of the text format of COPY."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from eosfw_postgres.row_arrays import RowArrays, are_enough_for_arrays

if TYPE_CHECKING:
    import pyarrow as pa

    from eosfw_postgres.pgoutput import Row

__all__ = ["rows_of_lines"]

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""pyarrow takes one away from the start, where it may be a part of the first value."""
_MOST_BYTES = 1 << 30
"""An array of texts has at most twice as many."""


def rows_of_lines(lines: Sequence[bytes | memoryview], columns: int) -> Sequence[Row]:
    """The rows of lines of so many columns, each with its line feed."""
    if columns and are_enough_for_arrays(len(lines)):
        data = b"".join([_BYTE_ORDER_MARK, *lines])
        if len(data) <= _MOST_BYTES:
            return _arrays(data, columns)
    return [_row(bytes(line).decode()) for line in lines]


def _row(line: str) -> Row:
    values = line.removesuffix("\n").split("\t")
    if "\\" not in line:
        return list(values)
    return [None if value == "\\N" else _unescaped(value) for value in values]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


def _arrays(data: bytes, columns: int) -> RowArrays:
    import pyarrow as pa
    from pyarrow import csv

    names = list(map(str, range(columns)))
    # What would end a line or a value is escaped, so that no value needs a look before the lines are cut.
    table = csv.read_csv(
        pa.py_buffer(data),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
        csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=["\\N"],
            strings_can_be_null=True,
            check_utf8=False,  # the server has seen to it
        ),
    )
    finish: Callable[[pa.Array], pa.Array] = _without_escapes if b"\\" in data else lambda array: array
    return RowArrays([finish(one.combine_chunks()) for one in table.columns], len(table))


def _without_escapes(array: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    escaped = pc.fill_null(pc.match_substring(array, "\\"), fill_value=False)
    texts = [_unescaped(one) for one in array.filter(escaped).to_pylist()]
    return pc.replace_with_mask(array, escaped, pa.array(texts, pa.string())) if texts else array
