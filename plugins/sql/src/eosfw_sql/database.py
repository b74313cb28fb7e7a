"""A database, reached through SQLAlchemy."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from eosfw_sql.column_types import JsonText
from eosfw_sql.errors import refused, translated, unreadable_value
from eosfw_sql.queries import columns_of_query, subquery
from eosfw_sql.urls import url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from eosfw.config import Config
    from eosfw.errors import ConfigError

Found = TypeVar("Found")

_PACKAGES = {"MySQLdb": "mysqlclient", "psycopg2": "psycopg2-binary"}
"""Packages of drivers whose modules have another name."""
_CACHED = 500
"""SQLAlchemy's own number of compiled statements."""
_SESSION = {
    "postgresql": "SELECT set_config('lock_timeout', '500', true), set_config('extra_float_digits', '3', true), "
    "set_config('DateStyle', 'ISO', true)",
    "mysql": "SET SESSION lock_wait_timeout = 1, time_zone = '+00:00'",
}
"""At the beginning of each transaction: a table that somebody has locked is asked again later. Without it a statement
waits for as long as the table is locked, and nobody could read other tables meanwhile, or stop the task.

Of PostgreSQL in the transaction alone, since a pooler may give its session to others. Numbers of floating point have
all their digits, and times a form that drivers read, whatever database, role or an old version says.

TIMESTAMP of MariaDB and MySQL is a moment, shown in the time zone of the session: in one that has summer time an hour
of each year comes twice, and rows of the second one would be behind those of the first."""
_WITH_JSON = ("sqlite", "postgresql", "mysql", "mariadb")
"""Dialects that are asked for the text of JSON."""
_BY_LIBPQ = ("psycopg", "psycopg2")
_UTF8 = {"client_encoding": "utf8"}
"""Else a database of SQL_ASCII gives texts as bytes, and a role may have an encoding that lacks characters."""
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 6, "tcp_user_timeout": 90_000}
"""A server whose machine or network has failed ends no connection: within two minutes that is an error."""
_READ_TO_THE_END = ("mysql", "mariadb")
"""Dialects whose cursors fetch all rows that are left when they are closed."""


class Database:
    """The database of a configuration. It connects when it is first asked, and again once it did not answer."""

    def __init__(self, config: Config, statements: int = 0) -> None:
        """`statements` says how many different ones are asked again and again, so that each is compiled once."""
        url = url_of(config)
        self.name = url.set(query={}).render_as_string(hide_password=True)
        """Its URL without password, for messages."""
        self._engine = _engine(url, max(statements, _CACHED))
        self.catalog = url.database or ""
        """The database itself, as JDBC calls it."""
        self._quote: bool = config["quote.sql.identifiers"] == "always"
        self.dialect: str = {"mariadb": "mysql"}.get(self._engine.dialect.name, self._engine.dialect.name)

    def rows(self, statement: sa.Executable) -> Sequence[Sequence[Any]]:
        """The rows of a statement, in a transaction of its own."""
        with self._connected() as connection, self._translated(statement):
            return connection.execute(statement).all()

    def cursor(self, statement: sa.Executable, fetched: int) -> Cursor:
        """The rows of a statement one after the other, in a transaction that ends with them.

        `fetched` says how many of them the driver holds at a time. SQLite's writers may have to wait for the end.
        """
        connection, read = self._connect(), partial(self._translated, statement)
        with read():
            try:
                options = {"stream_results": True, "max_row_buffer": fetched}
                return Cursor(connection, connection.execute(statement, execution_options=options), read)
            except BaseException:
                connection.close()
                raise

    def inspect(self, question: Callable[[sa.Inspector], Found]) -> Found:
        """Ask what the database says about its tables."""
        with self._connected() as connection, translated(self.name):
            return question(sa.inspect(connection))

    def has_table(self, name: str) -> bool:
        """Whether there is such a table or view, TABLE or SCHEMA.TABLE."""
        schema, _, bare = name.rpartition(".")
        return self.inspect(lambda inspector: inspector.has_table(bare, schema or None))

    def columns_of_query(self, query: str) -> Sequence[Mapping[str, Any]]:
        """The columns of a query as an inspector tells those of a table."""
        with self._connected() as connection, self._translated():
            return columns_of_query(connection, query)

    def subquery(self, query: str, columns: Sequence[Mapping[str, Any]]) -> sa.FromClause:
        """A query whose columns are known, to choose from."""
        return subquery(query, columns, quote=self._quote)

    def close(self) -> None:
        """Close its connections; it may be asked again."""
        self._engine.dispose()

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        connection = self._connect()
        try:
            yield connection
        finally:
            # What was read is read, whether or not the server is still there to end the transaction.
            with suppress(exc.SQLAlchemyError):
                connection.close()

    def _connect(self) -> sa.Connection:
        try:
            with translated(self.name):
                connection = self._engine.connect()
                if self.dialect in _SESSION:
                    self._prepare(connection)
                return connection
        except (TypeError, ValueError):
            raise _odd_options(self._engine.url) from None

    def _prepare(self, connection: sa.Connection) -> None:
        try:
            connection.exec_driver_sql(_SESSION[self.dialect])
        except BaseException:
            connection.close()
            raise

    @contextmanager
    def _translated(self, statement: sa.Executable | None = None) -> Iterator[None]:
        source = partial(_source_of, statement)
        try:
            with translated(self.name, source):
                yield
        except (ValueError, TypeError, ArithmeticError):
            raise unreadable_value(self.name, source()) from None


def _source_of(statement: sa.Executable | None) -> str:
    """What a statement reads, for messages alone: SQLAlchemy compiles the statement to tell."""
    sources = statement.get_final_froms() if isinstance(statement, sa.Select) else ()
    names = [one.fullname for one in sources if isinstance(one, sa.TableClause)]
    return f"table {', '.join(names)}" if names else "the query"


class Cursor:
    """The rows of a statement, of which a few are held at a time."""

    def __init__(
        self,
        connection: sa.Connection,
        result: sa.CursorResult[Any],
        translated: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._connection, self._result, self._translated = connection, result, translated
        self._ahead: list[Sequence[Any]] = []

    def take(self, most: int) -> tuple[Sequence[Sequence[Any]], bool]:
        """The next rows, and whether there are more."""
        with self._translated():
            # One row more than is asked for says whether these are the last ones.
            rows = [*self._ahead, *self._result.fetchmany(most + 1 - len(self._ahead))]
        self._ahead = rows[most:]
        return rows[:most], bool(self._ahead)

    def close(self) -> None:
        """Give the connection back, or give it up if there are rows left; whatever state it is in, this is no error."""
        if self._ahead and self._connection.dialect.name in _READ_TO_THE_END:
            # What is left may be a large table, and pymysql would read it where it lets go of the rows.
            with suppress(AttributeError):
                self._result.cursor._result.unbuffered_active = False  # noqa: SLF001 - it has no other way
            with suppress(exc.SQLAlchemyError):
                self._connection.invalidate()
        with suppress(exc.SQLAlchemyError):
            self._result.close()
        with suppress(exc.SQLAlchemyError):
            self._connection.close()


def _odd_options(url: sa.URL) -> ConfigError:
    """The error about options that a driver does not take, without their values, which may be secret."""
    return refused(
        "connection.url",
        f"the driver of {url.drivername} does not take all of the options {', '.join(sorted(url.query))}, or not with "
        f"these values; correct what stands behind the ?",
    )


def _engine(url: sa.URL, cached: int) -> sa.Engine:
    try:
        options: dict[str, Any] = {"json_deserializer": JsonText.of} if url.get_backend_name() in _WITH_JSON else {}
        if url.get_driver_name() in _BY_LIBPQ:
            given = _UTF8 | _ALIVE
            options["connect_args"] = {name: value for name, value in given.items() if name not in url.query}
        return sa.create_engine(url, pool_pre_ping=False, query_cache_size=cached, **options)
    except exc.NoSuchModuleError:
        raise refused(
            "connection.url", f"SQLAlchemy has no dialect {url.drivername!r}; correct the name, or install its package"
        ) from None
    except (ValueError, TypeError, exc.ArgumentError):
        raise _odd_options(url) from None
    except ImportError as error:
        module = (error.name or url.get_driver_name()).partition(".")[0]
        raise refused(
            "connection.url",
            f"the driver {module!r} is not installed. Try: pip install {_PACKAGES.get(module, module)}",
        ) from None
