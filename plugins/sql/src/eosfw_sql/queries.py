"""A user's SELECT as something that columns are chosen from, and what it gives.

The SELECT stands in parentheses, so that it may have a WHERE of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import types
from sqlalchemy.sql.elements import quoted_name

from eosfw_sql.errors import refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME: Final = "eosfw_query"
_PARAMETER: Final = re.compile(r"(?<![:\w\\]):(?=\w)")
"""What SQLAlchemy would take for a parameter; queries have none."""
_MOST_DIGITS: Final = 1000
"""Of a numeric of PostgreSQL; drivers tell more for one without a precision."""


def subquery(query: str, columns: Sequence[Mapping[str, Any]], *, quote: bool) -> sa.FromClause:
    """A query whose columns are known."""
    named = [sa.column(quoted_name(one["name"], quote), one["type"]) for one in columns]
    return _text(query).columns(*named).subquery(_NAME)


def columns_of_query(connection: sa.Connection, query: str) -> Sequence[Mapping[str, Any]]:
    """The columns of a query as an inspector tells those of a table; nothing stays in the database.

    ConfigError for a dialect that is not known: a driver tells the types of a result in its own way.
    """
    describe = _DIALECTS.get(connection.dialect.name)
    if describe is None:
        raise refused(
            "query",
            f"the columns of queries are not known of {connection.dialect.name}; make a view of the query, and name it "
            f"by table.whitelist",
        )
    return [{"name": one["name"], "type": one["type"], "nullable": True} for one in describe(connection, query)]


def _text(query: str) -> sa.TextClause:
    return sa.text(_PARAMETER.sub(r"\\:", query.strip().rstrip(";")))


def _without_rows(query: str) -> str:
    return f"SELECT * FROM ({_text(query).text}) AS q LIMIT 0"  # noqa: S608 - it is the user's own


def _of_sqlite(connection: sa.Connection, query: str) -> Sequence[Mapping[str, Any]]:
    """By a view that is this connection's own: SQLite knows the declared types of its columns."""
    connection.execute(sa.text(f"CREATE TEMPORARY VIEW {_NAME} AS {_text(query).text}"))
    return list(sa.inspect(connection).get_columns(_NAME, "temp"))


def _of_mysql(connection: sa.Connection, query: str) -> Sequence[Mapping[str, Any]]:
    """By a table that is this connection's own, without rows."""
    connection.execute(sa.text(f"CREATE TEMPORARY TABLE {_NAME} AS {_without_rows(query)}"))
    try:
        return list(sa.inspect(connection).get_columns(_NAME))
    finally:
        connection.execute(sa.text(f"DROP TEMPORARY TABLE {_NAME}"))


def _of_postgresql(connection: sa.Connection, query: str) -> Sequence[Mapping[str, Any]]:
    """By what the driver tells of a result without rows, which a standby server gives, too."""
    result = connection.execute(sa.text(_without_rows(query)))
    described = [(one[0], one[1], one[4], one[5]) for one in result.cursor.description]
    names = {
        oid: connection.execute(sa.select(sa.func.format_type(oid, None))).scalar_one()
        for oid in {oid for _, oid, _, _ in described}
    }
    known: Mapping[str, Any] = connection.dialect.ischema_names  # type: ignore[attr-defined]
    return [
        {"name": name, "type": _postgresql_type(names[oid], precision, scale, known)}
        for name, oid, precision, scale in described
    ]


def _postgresql_type(
    name: str, precision: int | None, scale: int | None, known: Mapping[str, Any]
) -> types.TypeEngine[Any]:
    if name.endswith("[]"):
        return types.ARRAY(_postgresql_type(name.removesuffix("[]"), precision, scale, known))
    if name == "numeric":
        bounded = precision is not None and 0 < precision <= _MOST_DIGITS
        return types.Numeric(precision, scale) if bounded else types.Numeric()
    kind = known.get(name, types.NullType)
    zoned = issubclass(kind, types.DateTime | types.Time)
    found: types.TypeEngine[Any] = kind(timezone=name.endswith("with time zone")) if zoned else kind()
    return found


_DIALECTS: Final = {
    "sqlite": _of_sqlite,
    "postgresql": _of_postgresql,
    "mysql": _of_mysql,
    "mariadb": _of_mysql,
}
