"""Values of one schema held as columns, so that nothing needs an object for each record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, cast, overload

from eosfw.data.fitting import INTEGER_LIMITS, fitter
from eosfw.data.logical import LOGICAL_NAMES
from eosfw.data.schema import Schema, Type
from eosfw.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ArrowValues",
    "Column",
    "RepeatedValue",
    "StructColumns",
    "Utf8Strings",
    "as_list",
    "fitted_values",
    "holds_arrow",
    "is_arrow",
    "selected",
]

Column = Sequence[Any]
"""The values of a field: a list, `RepeatedValue`, `StructColumns` or a `pyarrow.Array`."""


class StructColumns(Sequence[dict[str, Any]]):
    """Structs, none of them null: a sequence of dicts whose columns are at hand. Nobody changes one once it is made."""

    __slots__ = ("_length", "columns")

    def __init__(self, columns: Mapping[str, Column], length: int) -> None:
        self.columns = columns
        """For each field, in the schema's order, a list, a `RepeatedValue` or a `pyarrow.Array` of `length` values, or
        `StructColumns` of a struct."""
        self._length = length

    @classmethod
    def of_arrow(cls, batch: pa.RecordBatch) -> StructColumns:
        """The columns of a `pyarrow.RecordBatch`, without looking at a value; DataError if two have one name."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        if len(columns) < batch.num_columns:
            raise DataError("two columns of a RecordBatch have one name, which no struct can")
        return cls(columns, batch.num_rows)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> StructColumns: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | StructColumns:
        if isinstance(at, slice):
            length = len(range(*at.indices(self._length)))
            return StructColumns({name: column[at] for name, column in self.columns.items()}, length)
        return {name: _value(column, at) for name, column in self.columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = tuple(self.columns)
        if not names:
            return iter([{} for _ in range(self._length)])
        rows = zip(*map(as_list, self.columns.values()), strict=True)
        return (dict(zip(names, row, strict=True)) for row in rows)

    def with_columns(self, columns: Mapping[str, Column]) -> StructColumns:
        """As many structs with other columns."""
        return StructColumns(columns, self._length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        raise TypeError("columns may be lists, which have no hash")

    @property
    def by_arrow(self) -> bool:
        """Whether every column is a `pyarrow.Array`, so that a library can work on them."""
        return bool(self.columns) and all(map(is_arrow, self.columns.values()))


class Utf8Strings(Sequence[str]):
    """Strings held as their bytes in UTF-8, which need not be decoded to be sent. Nobody changes one once it is made.

    What is no UTF-8 becomes U+FFFD where it is read as a string, as in Java.
    """

    __slots__ = ("encoded",)

    def __init__(self, encoded: Sequence[bytes]) -> None:
        self.encoded = encoded
        """The bytes of each string."""

    def __len__(self) -> int:
        return len(self.encoded)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Utf8Strings: ...
    def __getitem__(self, at: int | slice) -> str | Utf8Strings:
        if isinstance(at, slice):
            return Utf8Strings(self.encoded[at])
        return self.encoded[at].decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        return (one.decode(errors="replace") for one in self.encoded)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        raise TypeError("the bytes may be in a list, which has no hash")


class RepeatedValue(Sequence[Any]):
    """One value that all records share, such as the name of their source: it is checked and written once."""

    __slots__ = ("_length", "value")

    def __init__(self, value: Any, length: int) -> None:
        self.value = value
        """The value; nobody changes it."""
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> RepeatedValue: ...
    def __getitem__(self, at: int | slice) -> Any:
        places = range(self._length)[at]  # IndexError beyond its end
        return RepeatedValue(self.value, len(places)) if isinstance(places, range) else self.value

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.value, self._length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        raise TypeError("the value may have no hash")


class ArrowValues(Sequence[Any]):
    """Keys or values that are no structs: a sequence of values of Python whose array is at hand."""

    __slots__ = ("array",)

    def __init__(self, array: pa.Array) -> None:
        self.array = array
        """The `pyarrow.Array`."""

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> ArrowValues: ...
    def __getitem__(self, at: int | slice) -> Any:
        return ArrowValues(self.array[at]) if isinstance(at, slice) else _value(self.array, at)

    def __iter__(self) -> Iterator[Any]:
        return iter(as_list(self.array))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        raise TypeError("an array has no hash")

    @property
    def null_count(self) -> int:
        """How many are null."""
        return cast("int", self.array.null_count)


def is_arrow(column: object) -> bool:
    """Whether a column is a `pyarrow.Array`; pyarrow is not imported to find out."""
    kind = type(column)
    return kind is not list and kind.__module__.partition(".")[0] == "pyarrow"


def holds_arrow(values: Column) -> bool:
    """Whether values are an array of pyarrow, or structs of which at least one column is."""
    if isinstance(values, StructColumns):
        return any(map(is_arrow, values.columns.values()))
    return isinstance(values, ArrowValues)


def _value(column: Column, at: int) -> Any:
    if not is_arrow(column):
        return column[at]
    from eosfw.data.arrow import plain_value

    return plain_value(cast("pa.Array", column)[at])


def as_list(column: Column) -> list[Any]:
    """A column as a list of values of Python."""
    if is_arrow(column):
        from eosfw.data.arrow import plain_values

        return plain_values(cast("pa.Array", column))
    return column if isinstance(column, list) else list(column)


def selected(column: Column, selection: Sequence[bool]) -> Column:
    """The values of a column that are selected; columns of structs stay columns."""
    if isinstance(column, StructColumns):
        columns = {name: selected(one, selection) for name, one in column.columns.items()}
        return StructColumns(columns, sum(selection))
    if isinstance(column, Utf8Strings):
        return Utf8Strings(list(compress(column.encoded, selection)))
    if isinstance(column, ArrowValues):
        return ArrowValues(cast("pa.Array", selected(column.array, selection)))
    if isinstance(column, RepeatedValue):
        return RepeatedValue(column.value, sum(selection))
    if is_arrow(column):
        return cast("Column", cast("pa.Array", column).filter(list(selection)))
    return list(compress(column, selection))


def fitted_values(schema: Schema, values: Column) -> Column:
    """Values that fit a schema, in the framework's form: structs as columns unless one is null.

    DataError if one does not fit; it does not say which, so a caller asks `fitter` one by one.
    """
    if isinstance(values, StructColumns):
        return _fitted_columns(schema, values)
    if isinstance(values, ArrowValues):
        return _fitted_values_of_arrow(schema, values)
    if isinstance(values, RepeatedValue):
        return _fitted_column(schema, values)
    if schema.type is not Type.STRUCT or not values:
        return _fitted_column(schema, values)
    columns = _transposed(schema, values)
    if columns is None:
        return _fitted_column(schema, values)
    return _fitted_columns(schema, StructColumns(columns, len(values)))


def _fitted_values_of_arrow(schema: Schema, values: ArrowValues) -> Column:
    array = cast("pa.Array", _fitted_column(schema, values.array))
    if schema.type is not Type.STRUCT:
        return ArrowValues(array)
    if array.null_count or not schema.fields:
        return as_list(array)
    return StructColumns(dict(zip(schema.names, array.flatten(), strict=True)), len(array))


def _fitted_columns(schema: Schema, values: StructColumns) -> StructColumns:
    if schema.type is not Type.STRUCT or tuple(values.columns) != schema.names:
        raise DataError("its columns are not the fields of its schema")
    made = {one.name: _fitted_column(one.schema, values.columns[one.name]) for one in schema.fields}
    return values.with_columns(made)


# What needs no look at each value: the type says it all, or with whole numbers the smallest and the greatest.
_EXACT = {Type.STRING: str, Type.BOOLEAN: bool, Type.FLOAT64: float, Type.BYTES: bytes}


def _fitted_column(schema: Schema, column: Column) -> Column:
    if is_arrow(column):
        from eosfw.data.arrow import fitted_array

        return cast("Column", fitted_array(schema, cast("pa.Array", column)))
    if isinstance(column, StructColumns):
        return _fitted_columns(schema, column)
    if isinstance(column, RepeatedValue):
        return RepeatedValue(fitter(schema)(column.value), len(column))
    if schema.name not in LOGICAL_NAMES:
        if schema.type is Type.STRING and isinstance(column, Utf8Strings):
            return column
        kinds = set(map(type, column))
        if schema.optional or schema.default is not None:
            kinds.discard(type(None))
        if kinds == {_EXACT.get(schema.type)} or (kinds == {int} and _within(schema.type, column)):
            return column
    return list(map(fitter(schema), column))


def _within(kind: Type, column: Column) -> bool:
    low, high = INTEGER_LIMITS.get(kind, (1, 0))
    try:
        return bool(low <= min(column) and max(column) <= high)
    except TypeError:  # nulls among them
        return all(one is None or low <= one <= high for one in column)


def _transposed(schema: Schema, values: Column) -> Mapping[str, Column] | None:
    """A column for each field, if all values are of one kind that can be cut into columns; else None."""
    names, kinds = schema.names, set(map(type, values))
    if len(kinds) != 1 or not names:
        return None
    take = _way_to_take(names, kinds.pop(), values)
    try:
        return None if take is None else {name: list(map(take(at), values)) for at, name in enumerate(names)}
    except KeyError:  # some have other fields
        return None


def _way_to_take(names: Sequence[str], kind: type, values: Column) -> Callable[[int], Callable[[Any], Any]] | None:
    """How to take the field at a place of structs that a task gave in one way; None if they are not all whole."""
    if getattr(kind, "__dataclass_fields__", {}).keys() == set(names):
        return lambda at: attrgetter(names[at])
    if kind not in (dict, tuple, list) or set(map(len, values)) != {len(names)}:
        return None
    return (lambda at: itemgetter(names[at])) if kind is dict else itemgetter
