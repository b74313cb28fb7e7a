"""Structs in columns as Avro's bytes: each column at once by pyarrow and numpy, then joined to records.

A column becomes arrays of bytes, its pieces: what stands in each record for the values of that column, one behind the
other. Whole numbers, lengths and the members of unions have few bytes, so they are rows of a matrix of which as many
bytes are taken as a value needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eosfw.data import STRING, Schema, StructColumns, Type, arrow_schema_of, default_of, is_arrow, struct
from eosfw.errors import DataError
from eosfw_schema_registry.avro.form import DECIMAL, PRECISION, AvroForm, fixed_size, is_union
from eosfw_schema_registry.avro.values import Encoder, default_first, field_encoder, value_encoder

_EMPTY: Final = pa.scalar(b"")
_MOST: Final = 2**31 - 1
_MOST_DIGITS: Final = 38
"""Of decimals that an array holds."""
_INTEGERS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)


def encoded_columns(form: AvroForm, schema: Schema, values: StructColumns, head: bytes) -> list[bytes]:
    """The bytes of each struct behind a head. What does not fit raises any exception, and does not say where."""
    columns = values.columns.values()
    made: list[bytes] = _joined(pa.scalar(head), _of_fields(form, schema, columns), len(values)).to_pylist()
    return made


def encoded_array(form: AvroForm, schema: Schema, array: Any, head: bytes) -> list[bytes | None]:
    """The bytes of each value of an array of pyarrow behind a head; None for a null. As `encoded_columns`."""
    column = _as_schema(schema, array)
    joined = _joined(pa.scalar(head), list(_of_array(form, schema, column)), len(column))
    made: list[bytes | None] = pc.if_else(column.is_valid(), joined, pa.scalar(None, pa.binary())).to_pylist()
    return made


def _joined(head: pa.Scalar, pieces: Sequence[pa.Array], length: int) -> pa.Array:
    return pc.binary_join_element_wise(head, *pieces, _EMPTY) if pieces else pa.repeat(head, length)


def _of_fields(form: AvroForm, schema: Schema, columns: Iterable[Any]) -> list[pa.Array]:
    pairs = zip(schema.fields, columns, strict=True)
    return [piece for one, column in pairs for piece in _of_field(form, one.schema, column)]


def _of_field(form: AvroForm, schema: Schema, column: Any) -> Iterator[pa.Array]:
    """The pieces of a field's values, with the default in the place of nulls."""
    if _maker(form, schema) is None or not (is_arrow(column) or schema.type.is_primitive):
        yield _one_by_one(field_encoder(form, schema), column)
        return
    array = _as_schema(schema, column)
    if array.null_count and schema.default is not None and not form.ignore_default:
        array = array.fill_null(pa.scalar(default_of(schema), array.type))
    yield from _of_array(form, schema, array)


def _as_schema(schema: Schema, column: Any) -> pa.Array:
    """A column as an array of the type of its schema; DataError if that would change values."""
    kind = arrow_schema_of(struct({"": schema})).field(0).type
    array = column if is_arrow(column) else pa.array(column, kind)
    if array.type == kind:
        return array
    if _without_nulls(array.type) != _without_nulls(kind):
        raise DataError(f"a column is {array.type}, and its schema {kind}")
    return array.cast(kind)  # such as lists whose items may be null, and are not


def _without_nulls(kind: pa.DataType) -> str:
    """A type without what it says of nulls; a cast between others would change values."""
    return str(kind).replace(" not null", "")


def _of_array(form: AvroForm, schema: Schema, array: pa.Array) -> Iterator[pa.Array]:
    """The pieces of an array's values, no defaults."""
    make = _maker(form, schema)
    if make is None:
        yield _one_by_one(value_encoder(form, schema), array)
    elif array.null_count and not schema.optional:
        raise DataError("Found null value for non-optional schema")
    else:
        yield from make(_Column(form, schema, array))


def _one_by_one(encode: Encoder, column: Any) -> pa.Array:
    values = (one[""] for one in StructColumns({"": column}, len(column)))
    return pa.array([encode(one) for one in values], pa.binary())


class _Column:
    """An array with its schema, and the bytes that say which member of a union each value is."""

    def __init__(self, form: AvroForm, schema: Schema, array: pa.Array) -> None:
        self.form = form
        self.schema = schema
        self.array = array
        self._null, self._value = (2, 0) if default_first(schema) else (0, 2)
        self.valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None

    def rows(self, matrix: np.ndarray, taken: np.ndarray) -> pa.Array:
        """The bytes that are taken of each row of a matrix, behind the member; of a null its member alone."""
        if self.schema.optional:
            lead = np.full((len(matrix), 1), self._value, np.uint8)
            if self.valid is not None:
                lead[~self.valid] = self._null
                taken = taken & self.valid[:, None]
            matrix = np.concatenate((lead, matrix), axis=1)
            taken = np.concatenate((np.ones((len(taken), 1), np.bool_), taken), axis=1)
        return _bytes_of(matrix, taken)

    def body(self, array: pa.Array) -> pa.Array:
        """Bytes that follow, nothing for a null."""
        return array if self.valid is None else array.fill_null(b"")


Maker = Callable[[_Column], Iterator[pa.Array]]


def _bytes_of(matrix: np.ndarray, taken: np.ndarray) -> pa.Array:
    ends = np.cumsum(taken.sum(axis=1), dtype=np.int64)
    if len(ends) and ends[-1] > _MOST:
        raise OverflowError("more bytes than an array of pyarrow holds")
    offsets = np.concatenate((np.zeros(1, np.int32), ends.astype(np.int32)))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(matrix[taken]))]
    return pa.Array.from_buffers(pa.binary(), len(matrix), buffers)


def _varints(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers as Avro has them, and which bytes of each row are taken."""
    wide = numbers.astype(np.int64)
    rest = ((wide << 1) ^ (wide >> 63)).view(np.uint64)
    width = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))
    matrix = np.empty((len(rest), width), np.uint8)
    taken = np.ones((len(rest), width), np.bool_)
    for at in range(width):
        low = (rest & 127).astype(np.uint8)
        rest = rest >> np.uint64(7)
        more = rest > 0
        matrix[:, at] = low | more.astype(np.uint8) << 7
        if at + 1 < width:
            taken[:, at + 1] = more
    return matrix, taken


def _numbers(array: pa.Array, kind: Any) -> np.ndarray:
    """The numbers of an array, anything for nulls."""
    if not len(array):
        return np.zeros(0, kind)
    return np.frombuffer(array.buffers()[1], kind, len(array), array.offset * np.dtype(kind).itemsize)


def _integers(column: _Column) -> Iterator[pa.Array]:
    yield column.rows(*_varints(_numbers(column.array, f"i{column.array.type.bit_width // 8}")))


def _reals(column: _Column) -> Iterator[pa.Array]:
    width = column.array.type.bit_width // 8
    matrix = _numbers(column.array, f"<f{width}").view(np.uint8).reshape(-1, width)
    yield column.rows(matrix, np.ones(matrix.shape, np.bool_))


def _booleans(column: _Column) -> Iterator[pa.Array]:
    matrix = _numbers(column.array.cast(pa.uint8()), np.uint8).reshape(-1, 1)
    yield column.rows(matrix, np.ones(matrix.shape, np.bool_))


def _texts(column: _Column) -> Iterator[pa.Array]:
    yield column.rows(*_varints(_numbers(pc.binary_length(column.array), np.int32)))
    yield column.body(column.array.cast(pa.binary()))


def _enums(column: _Column) -> Iterator[pa.Array]:
    places = pc.index_in(column.array, pa.array(column.form.symbols(column.schema), pa.string()))
    if places.null_count > column.array.null_count:
        raise DataError("it is no symbol of its enum")
    yield column.rows(*_varints(_numbers(places, np.int32)))


def _decimals(column: _Column) -> Iterator[pa.Array]:
    """Unscaled numbers, the high bytes first, as few as hold the sign, behind their length."""
    halves = _numbers(column.array, "V16").view("<i8").reshape(-1, 2)
    small = bool((halves[:, 1] == halves[:, 0] >> 63).all())
    matrix = (halves[:, :1] if small else halves).copy().view(np.uint8)[:, ::-1]
    width = matrix.shape[1]
    sign = np.where(matrix[:, 0] > 127, np.uint8(255), np.uint8(0))
    needed = np.ones(matrix.shape, np.bool_)
    spare = np.ones(len(matrix), np.bool_)
    for at in range(width - 1):
        spare &= (matrix[:, at] == sign) & ((matrix[:, at + 1] ^ sign) < 128)
        needed[:, at] = ~spare
    lengths = (needed.sum(axis=1, dtype=np.uint8) * 2).reshape(-1, 1)
    taken = np.concatenate((np.ones(lengths.shape, np.bool_), needed), axis=1)
    yield column.rows(np.concatenate((lengths, matrix), axis=1), taken)


def _structs(column: _Column) -> Iterator[pa.Array]:
    present = column.array.drop_null()
    body = _joined(_EMPTY, _of_fields(column.form, column.schema, present.flatten()), len(present))
    if column.valid is not None:
        body = body.take(pa.array(np.cumsum(column.valid) - 1, mask=~column.valid))
    if column.schema.optional:
        nothing = np.empty((len(column.array), 0), np.uint8)
        yield column.rows(nothing, nothing.astype(np.bool_))
    yield column.body(body)


def _lists(column: _Column) -> Iterator[pa.Array]:
    """One block with its count, then the end, which is all of an empty array or map."""
    lists = column.array
    if pa.types.is_map(lists.type):
        lists = lists.cast(pa.list_(pa.struct([lists.type.key_field, lists.type.item_field])))
    counts = _numbers(pc.list_value_length(lists).fill_null(0), np.int32)
    elements = pc.list_flatten(lists)
    matrix, taken = _varints(counts)
    yield column.rows(matrix, taken & (counts > 0)[:, None])
    parts = _joined(_EMPTY, _of_elements(column.form, column.schema, elements), len(elements))
    ends = np.concatenate((np.zeros(1, np.int32), np.cumsum(counts, dtype=np.int32)))
    yield pc.binary_join(pa.ListArray.from_arrays(ends, parts), b"")
    end = pa.repeat(pa.scalar(b"\0"), len(lists))
    yield end if column.valid is None else pc.if_else(column.valid, end, _EMPTY)


def _of_elements(form: AvroForm, schema: Schema, elements: pa.Array) -> list[pa.Array]:
    assert schema.value_schema is not None
    if schema.key_schema is None:
        return list(_of_array(form, schema.value_schema, elements))
    keys, values = elements.flatten()
    of_keys = STRING if form.is_avro_map(schema) else schema.key_schema
    return [*_of_array(form, of_keys, keys), *_of_array(form, schema.value_schema, values)]


def _maker(form: AvroForm, schema: Schema) -> Maker | None:
    """What makes the pieces of a column; None for those whose values are written one by one."""
    if schema.name == DECIMAL and schema.type is Type.BYTES:
        wide = int(schema.parameters.get(PRECISION, _MOST_DIGITS)) > _MOST_DIGITS
        return None if wide or fixed_size(schema) is not None else _decimals
    if is_union(schema) or fixed_size(schema) is not None:
        return None
    if form.is_enum(schema):
        return _enums
    return _BY_TYPE.get(schema.type)


_BY_TYPE: Final[Mapping[Type, Maker]] = {
    **dict.fromkeys(_INTEGERS, _integers),
    Type.FLOAT32: _reals,
    Type.FLOAT64: _reals,
    Type.BOOLEAN: _booleans,
    Type.STRING: _texts,
    Type.BYTES: _texts,
    Type.STRUCT: _structs,
    Type.ARRAY: _lists,
    Type.MAP: _lists,
}
