"""What the catalog says of a table beside its columns' types: nullability, defaults, the primary key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["TABLE_QUERY", "ColumnDetails", "TableDetails", "details_of"]

TABLE_QUERY = """
select a.attname, a.attnotnull or t.typnotnull, pg_get_expr(d.adbin, d.adrelid),
    coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)
from pg_attribute a join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum and a.attgenerated = ''
    left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped order by a.attnum"""
"""Takes the oid of a table; its rows are what `details_of` takes."""


@dataclass(frozen=True, slots=True)
class ColumnDetails:
    """Of one column."""

    optional: bool = True
    """Whether it may be null."""
    default: str | None = None
    """The expression of its default, as `pg_get_expr` writes it."""


@dataclass(frozen=True, slots=True)
class TableDetails:
    """Of one table, as it is now: a stream may be behind it."""

    columns: dict[str, ColumnDetails] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    """The names of the columns, in the order of the key."""

    def of(self, column: str) -> ColumnDetails:
        """What is known of a column; of one that is gone, that it may be null."""
        return self.columns.get(column, ColumnDetails())

    def with_optional(self, column: str) -> TableDetails:
        """The same, but the column may be null."""
        return replace(self, columns=self.columns | {column: replace(self.of(column), optional=True)})


def details_of(rows: Iterable[Sequence[Any]]) -> TableDetails:
    """The details that `TABLE_QUERY` has found."""
    found = list(rows)
    places = sorted((row[3], row[0]) for row in found if row[3])
    columns = {row[0]: ColumnDetails(not row[1], row[2]) for row in found}
    return TableDetails(columns, tuple(name for _, name in places))
