"""What PostgreSQL's catalog says of types: `pg_type` with the labels of enums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["CATALOG_QUERY", "Catalog", "CatalogType", "catalog_of"]

CATALOG_QUERY = """
select t.oid::int8, t.typname, t.typtype::text, case when t.typcategory = 'A' then t.typelem::int8 else 0 end,
    t.typbasetype::int8, t.typtypmod,
    (select array_agg(enumlabel::text order by enumsortorder) from pg_enum where enumtypid = t.oid)
from pg_type t left join pg_class c on c.oid = t.typrelid
where t.typisdefined and (c.oid is null or c.relkind = 'c')
    and not exists (select from pg_type e join pg_class r on r.oid = e.typrelid
        where e.oid = t.typelem and r.relkind <> 'c')
order by t.oid"""
"""Finds every type but those of the rows of tables; its rows are what `catalog_of` takes."""


@dataclass(frozen=True, slots=True)
class CatalogType:
    """A type; `kind` is `pg_type.typtype`: b(ase), c(omposite), d(omain), e(num), p(seudo), r(ange), m(ultirange)."""

    oid: int
    name: str
    kind: str
    element: int
    """The type of the elements of an array, else 0."""
    base: int
    """The type that a domain restricts, else 0."""
    base_typmod: int
    labels: tuple[str, ...] = ()
    """The values of an enum, in their order."""


Catalog: TypeAlias = Mapping[int, CatalogType]
"""Types by their oid."""


def catalog_of(rows: Iterable[Sequence[Any]]) -> Catalog:
    """The catalog that `CATALOG_QUERY` has found."""
    return {
        oid: CatalogType(oid, name, kind, element, base, base_typmod, tuple(labels or ()))
        for oid, name, kind, element, base, base_typmod, labels in rows
    }
