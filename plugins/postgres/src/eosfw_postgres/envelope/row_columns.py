"""The columns of a table: their fields, and what makes values of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from eosfw.data import Field, Schema, StructColumns, Type, is_arrow
from eosfw.errors import DataError
from eosfw_postgres.envelope.defaults import default_of_column
from eosfw_postgres.envelope.names import field_names
from eosfw_postgres.envelope.settings import EnvelopeSettings
from eosfw_postgres.envelope.table_details import TableDetails
from eosfw_postgres.pgoutput import UNCHANGED, Column, Relation, Row
from eosfw_postgres.row_arrays import RowArrays
from eosfw_postgres.types import Catalog, CatalogType, ColumnType, column_type

__all__ = ["RowColumns", "UnexpectedNullError", "shown_columns"]


class UnexpectedNullError(Exception):
    """A row has null in a column that is NOT NULL now: the row is older."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column that is a field of the records."""

    at: int
    """Its place in a row."""
    name: str
    field: Field
    kind: ColumnType
    missing: Any
    """What a row without the value has: null, or for NOT NULL the default or a zero."""


class RowColumns:
    """Makes structs of the rows of a relation, column by column."""

    def __init__(
        self, columns: Sequence[ShownColumn], table: str, failures: str, notice: Callable[[str, str], None]
    ) -> None:
        self.columns = columns
        self._table, self._failures, self._notice = table, failures, notice

    def named(self, names: Sequence[str]) -> RowColumns:
        """The columns with these names, in their order; DataError for a name that there is not."""
        known = {one.name: one for one in self.columns}
        lacking = [name for name in names if name not in known]
        if lacking:
            raise DataError(f"the key of {self._table} cannot have the column {lacking[0]!r}: it is not in the records")
        return RowColumns([known[name] for name in names], self._table, self._failures, self._notice)

    def schema(self, name: str) -> Schema:
        """The schema of the structs."""
        return Schema(Type.STRUCT, name=name, fields=tuple(one.field for one in self.columns))

    def structs(self, rows: Sequence[Row], *, partial: bool = False) -> StructColumns:
        """A struct for each row; `partial` rows have null where the server sends no value.

        DataError with table and column for a value that its schema cannot say, UnexpectedNullError for a null.
        """
        across: Sequence[Any] = rows.arrays if isinstance(rows, RowArrays) else list(zip(*rows, strict=True))
        made = {one.field.name: self._values(one, across[one.at], partial=partial) for one in self.columns}
        return StructColumns(made, len(rows))

    def texts(self, row: Row) -> list[Any]:
        """The texts of one row, to compare."""
        return [row[one.at] for one in self.columns]

    def _values(self, column: ShownColumn, texts: Sequence[Any], *, partial: bool) -> Sequence[Any]:
        if is_arrow(texts):
            return self._values_of_array(column, texts)
        unchanged = UNCHANGED in texts
        given = [None if text is UNCHANGED else text for text in texts] if unchanged else texts
        values = self._parsed(column, given)
        if partial and column.missing is not None:
            values = [column.missing if value is None else value for value in values]
        if unchanged:
            kept = column.kind.unavailable
            values = [kept if text is UNCHANGED else value for text, value in zip(texts, values, strict=True)]
        if not partial and not column.field.schema.optional and None in values:
            raise UnexpectedNullError(column.name)
        return values

    def _values_of_array(self, column: ShownColumn, texts: Any) -> Sequence[Any]:
        """The values of an array of texts, in which all values are."""
        if texts.null_count and not column.field.schema.optional:
            raise UnexpectedNullError(column.name)
        if column.kind.parse_array is not None:
            with suppress(ValueError):  # one of them is not as it is in most cases
                made: Sequence[Any] = column.kind.parse_array(texts)
                return made
        return self._parsed(column, texts.to_pylist())

    def _parsed(self, column: ShownColumn, texts: Sequence[Any]) -> list[Any]:
        try:
            return column.kind.parse(texts)
        except (DataError, ValueError, KeyError) as why:
            if self._failures == "fail":
                raise self._unfit(column, why) from None
        return [self._parsed_or_null(column, text) for text in texts]

    def _parsed_or_null(self, column: ShownColumn, text: Any) -> Any:
        try:
            return column.kind.parse([text])[0]
        except (DataError, ValueError, KeyError) as why:
            if self._failures == "warn":
                self._notice("values that no schema can say are null", str(self._unfit(column, why)))
            return None

    def _unfit(self, column: ShownColumn, why: Exception) -> DataError:
        # Python's own errors quote the value.
        said = str(why) if isinstance(why, DataError) else "it is no text of the column's type"
        return DataError(
            f"the column {column.name!r} of {self._table} has a value that cannot be shown: {said}; "
            "event.converting.failure.handling.mode=warn makes it null"
        )


def shown_columns(
    relation: Relation,
    details: TableDetails,
    catalog: Catalog,
    settings: EnvelopeSettings,
    notice: Callable[[str, str], None],
) -> RowColumns:
    """The columns of a relation; those whose types no schema can say are left out."""
    field_name = field_names(settings.field_names)
    found = []
    for at, column in enumerate(relation.columns):
        kind = column_type(column.type_oid, column.typmod, settings.types, catalog)
        if kind is not None:
            found.append(_shown(at, column, kind, details, catalog, field_name(column.name)))
    return RowColumns(found, f"{relation.namespace}.{relation.name}", settings.failures, notice)


def _shown(
    at: int, column: Column, kind: ColumnType, details: TableDetails, catalog: Catalog, field_name: str
) -> ShownColumn:
    known = details.of(column.name)
    root, typmod = _root(catalog, column)
    default = default_of_column(known.default, root, typmod, kind)
    schema = replace(kind.schema, optional=known.optional, default=default)
    missing = None if known.optional else default if default is not None else kind.missing
    return ShownColumn(at, column.name, Field(field_name, schema), kind, missing)


def _root(catalog: Mapping[int, CatalogType], column: Column) -> tuple[CatalogType, int]:
    """The type that the column's domain restricts, and its typmod."""
    kind, typmod = catalog[column.type_oid], column.typmod
    while kind.base:
        typmod = kind.base_typmod if kind.base_typmod != -1 else typmod
        kind = catalog[kind.base]
    return kind, typmod
