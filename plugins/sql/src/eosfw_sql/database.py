"""A database, reached through SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from eosfw.errors import DamagedDataError
from eosfw_sql.errors import refused, translated
from eosfw_sql.urls import url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eosfw.config import Config

Found = TypeVar("Found")

_PACKAGES = {"MySQLdb": "mysqlclient", "psycopg2": "psycopg2-binary"}
"""Packages of drivers whose modules have another name."""


class Database:
    """The database of a configuration. It connects when it is first asked, and again once it did not answer."""

    def __init__(self, config: Config) -> None:
        url = url_of(config)
        self.name = url.set(query={}).render_as_string(hide_password=True)
        """Its URL without password, for messages."""
        self._engine = _engine(url)
        self.dialect: str = {"mariadb": "mysql"}.get(self._engine.dialect.name, self._engine.dialect.name)

    def rows(self, statement: sa.Executable) -> Sequence[Sequence[Any]]:
        """The rows of a statement, in a transaction of its own."""
        try:
            with translated(self.name), self._engine.connect() as connection:
                return connection.execute(statement).all()
        except (ValueError, TypeError, ArithmeticError):
            # A driver, or SQLite's text, with what is no value of the column's type; its text has the value.
            raise DamagedDataError(
                f"database {self.name} holds a value that its column's type does not allow; correct the row, or the "
                f"type of the column"
            ) from None

    def inspect(self, question: Callable[[sa.Inspector], Found]) -> Found:
        """Ask what the database says about its tables."""
        with translated(self.name), self._engine.connect() as connection:
            return question(sa.inspect(connection))

    def close(self) -> None:
        """Close its connections; it may be asked again."""
        self._engine.dispose()


def _engine(url: sa.URL) -> sa.Engine:
    try:
        return sa.create_engine(url, pool_pre_ping=False)
    except exc.NoSuchModuleError:
        raise refused(
            "connection.url", f"SQLAlchemy has no dialect {url.drivername!r}; correct the name, or install its package"
        ) from None
    except ImportError as error:
        module = (error.name or url.get_driver_name()).partition(".")[0]
        raise refused(
            "connection.url",
            f"the driver {module!r} is not installed. Try: pip install {_PACKAGES.get(module, module)}",
        ) from None
