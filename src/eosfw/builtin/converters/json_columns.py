"""JSON of values that are arrays of Arrow (`pyarrow`), a column at a time; imported with the first of them.

The texts are those that `json_with_schema` gives for each value. Where Arrow writes a value in another way than Java,
that value is written by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from eosfw.builtin.connect_json import text
from eosfw.builtin.converters.json_with_schema import (
    LOGICAL_NUMBERS,
    JsonForm,
    is_one_value,
    payload_encoder,
    schema_head,
)
from eosfw.builtin.java.decimal_columns import decimal_texts
from eosfw.builtin.java.float_columns import float_texts
from eosfw.data import ArrowValues, Schema, StructColumns, Type, Utf8Strings, is_arrow
from eosfw.data.arrow import arrow_type, fitted_array, plain_values
from eosfw.data.columns import Column
from eosfw.data.logical import DECIMAL_NAME

__all__ = ["encoded_arrays"]

_ROWS = 4096
"""As many rows are written at once: their texts stay in the processor's cache."""
_ENTRY_NAME = Schema(Type.STRING)


def encoded_arrays(form: JsonForm, schema: Schema, values: Column) -> list[bytes | None]:
    """All values: structs in columns, an array, or others."""
    head, tail = (schema_head(form, schema), "}") if form.envelope else ("", "")
    made: list[bytes | None] = []
    for start in range(0, len(values), _ROWS):
        part = values[start : start + _ROWS]
        column = part.array if isinstance(part, ArrowValues) else part
        written = _written([head, *_parts(form, schema, column), tail], len(part))
        made += written.cast(pa.binary()).to_pylist()
    return made


_Parts = Iterable["str | pa.Array"]
"""What the texts of all values are made of, in order: a text is the same for each of them."""


def _parts(form: JsonForm, schema: Schema, column: Column) -> _Parts:
    if isinstance(column, StructColumns) and column.columns and form.special_encoder(schema) is None:
        return _struct_parts(form, schema, list(column.columns.values()))
    if is_one_value(column):
        return [payload_encoder(form, schema)(column[0])]
    return [_texts(form, schema, column)]


def _struct_parts(form: JsonForm, schema: Schema, columns: Sequence[Column]) -> Iterator[str | pa.Array]:
    """Objects with a member for each column."""
    before = "{"
    for one, column in zip(schema.fields, columns, strict=True):
        yield f"{before}{text(one.name)}:"
        yield from _parts(form, one.schema, column)
        before = ","
    yield "}"


def _written(parts: _Parts, count: int) -> pa.Array:
    """The texts of so many values; what they share is joined once."""
    made: list[Any] = []
    shared = ""
    for part in parts:
        if isinstance(part, str):
            shared += part
        else:
            made += [shared, part] if shared else [part]
            shared = ""
    if not made:
        return pa.repeat(shared, count)
    made += [shared] if shared else []
    return made[0] if len(made) == 1 else pc.binary_join_element_wise(*made, "")


def _texts(form: JsonForm, schema: Schema, column: Column) -> pa.Array:
    """The text of each value, none of them null."""
    encode = payload_encoder(form, schema)
    array = cast("pa.Array", column) if is_arrow(column) else _array(form, schema, column)
    if array is None:
        return pa.array(map(encode, column), pa.string())
    if array.null_count:
        return _spread(array.is_valid(), _texts(form, schema, array.drop_null()), encode(None))
    if array.type != arrow_type(schema):
        array = fitted_array(schema, array)
    write = _writer(form, schema)
    return pa.array(map(encode, plain_values(array)), pa.string()) if write is None else write(form, schema, array)


def _array(form: JsonForm, schema: Schema, column: Column) -> pa.Array | None:
    """Values as an array; None if that saves nothing, or if Arrow does not take them."""
    if not schema.type.is_primitive or _writer(form, schema) is None:
        return None
    try:
        if isinstance(column, Utf8Strings):
            return pa.array(column.encoded, pa.binary()).cast(pa.string())
        return pa.array(column, arrow_type(schema))
    except (pa.ArrowException, ValueError):  # such as half characters, or decimals of more than 38 digits
        return None


def _spread(valid: pa.Array, texts: pa.Array, null: str) -> pa.Array:
    """The texts at the places that are valid, and one for null at the others."""
    place = pc.subtract(pc.cumulative_sum(valid.cast(pa.int32())), 1)
    return texts.take(pc.if_else(valid, place, None)).fill_null(null)


_Writer = Callable[[JsonForm, Schema, pa.Array], pa.Array]


def _writer(form: JsonForm, schema: Schema) -> _Writer | None:
    """What writes an array without nulls; None if each value is written by itself."""
    if form.special_encoder(schema) is not None:
        return None
    if schema.name == DECIMAL_NAME and schema.type is Type.BYTES:
        return _plain if form.numeric_decimals else _decimal
    if (schema.type, schema.name) in LOGICAL_NUMBERS:
        return _moment
    if schema.key_schema is not None and schema.key_schema.type is not Type.STRING:
        return None
    return _WRITERS.get(schema.type)


def _plain(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:  # noqa: ARG001
    return array.cast(pa.string())


def _moment(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:  # noqa: ARG001
    return array.cast(pa.int64() if schema.type is Type.INT64 else pa.int32()).cast(pa.string())


def _decimal(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:
    return decimal_texts(array, payload_encoder(form, schema))


def _real(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:
    return float_texts(array, payload_encoder(form, schema))


# The bytes of UTF-8 that no escape concerns; those of characters beyond the basic plane begin with 0xF0 or more.
_UNESCAPED = bytes(byte for byte in range(0x20, 0xF0) if byte not in b'"\\')
_BEYOND = r"[\x{10000}-\x{10ffff}]"


def _string(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:  # noqa: ARG001
    data = _bytes_of(array)
    if not data.isascii():
        array.validate(full=True)  # that it is UTF-8, which an array that was cast may not be
    escaped = set(data.translate(None, _UNESCAPED))
    written = array
    # In the order of their codes a backslash would come behind the quote, and escape what escapes it.
    for byte in sorted(escaped, key=lambda byte: byte != ord("\\")):
        if byte < 0x80:
            written = pc.replace_substring(written, chr(byte), text(chr(byte))[1:-1])
    written = _joined('"', written, '"')
    if all(byte < 0x80 for byte in escaped):
        return written
    beyond = pc.match_substring_regex(array, _BEYOND)
    return pc.replace_with_mask(written, beyond, pa.array(map(text, array.filter(beyond).to_pylist()), pa.string()))


def _bytes_of(array: pa.Array) -> bytes:
    """The bytes of all texts, one behind the other."""
    _, offsets, data = array.buffers()
    if data is None or not len(array):
        return b""
    places = memoryview(offsets).cast("i")
    start, end = places[array.offset], places[array.offset + len(array)]
    return cast("bytes", data.slice(start, end - start).to_pybytes())


def _list(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:
    values = _texts(form, _part(schema.value_schema), array.flatten())
    return _joined("[", _joined_lists(array, values), "]")


def _map(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    names = array.keys.slice(first, last - first)
    if _repeats(array, names):  # of which the last one counts
        return pa.array(map(payload_encoder(form, schema), plain_values(array)), pa.string())
    values = _texts(form, _part(schema.value_schema), array.items.slice(first, last - first))
    entries = pc.binary_join_element_wise(_texts(form, _ENTRY_NAME, names), values, ":")
    return _joined("{", _joined_lists(array, entries), "}")


def _repeats(array: pa.Array, names: pa.Array) -> bool:
    """Whether a name stands twice in one map."""
    rows = pc.list_parent_indices(_lists(array, names))
    codes = names.dictionary_encode().indices.cast(pa.int64())
    return bool(pc.count_distinct(pc.add(pc.multiply(rows, len(names)), codes)).as_py() < len(names))


def _joined_lists(array: pa.Array, texts: pa.Array) -> pa.Array:
    """The texts of the elements of each list, with commas between them."""
    return pc.binary_join(_lists(array, texts), ",")


def _lists(array: pa.Array, elements: pa.Array) -> pa.Array:
    """Lists as long as those of an array, with other elements."""
    return pa.ListArray.from_arrays(pc.subtract(array.offsets, array.offsets[0]), elements)


def _struct(form: JsonForm, schema: Schema, array: pa.Array) -> pa.Array:
    if not schema.fields:
        return pa.repeat("{}", len(array))
    return _written(_struct_parts(form, schema, array.flatten()), len(array))


def _joined(before: str, texts: pa.Array, behind: str) -> pa.Array:
    return pc.binary_join_element_wise(before, texts, behind, "") if before or behind else texts


def _part(schema: Schema | None) -> Schema:
    assert schema is not None, "checked when the schema was made"
    return schema


_WRITERS: Mapping[Type, _Writer] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN), _plain),
    Type.FLOAT32: _real,
    Type.FLOAT64: _real,
    Type.STRING: _string,
    Type.ARRAY: _list,
    Type.MAP: _map,
    Type.STRUCT: _struct,
}
