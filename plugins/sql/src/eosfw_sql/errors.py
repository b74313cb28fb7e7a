"""What errors of databases mean: try again, or a sentence with what to do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import exc

from eosfw.errors import ConfigError, DamagedDataError, EosfwError, Problem, RetriableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RESTART = "if a column was dropped or renamed, restart the task, which looks at the table anew"
_COLUMNS = f"name columns that exist; {_RESTART}"
_PERMANENT = (
    ("no such table", "name tables that exist"),
    ("no such column", _COLUMNS),
    ("unknown column", _COLUMNS),
    (
        "syntax error",
        "correct the query, if one is named; with quote.sql.identifiers = always names need no quotes of their own",
    ),
    ("invalid connection option", "correct what stands behind the ? of connection.url"),
    ("password", "give the user's password by connection.password"),
    ("authentication", "give the user's password by connection.password"),
    ("access denied", "give the user the rights, or name another by connection.user"),
    ("command denied", "give the user the rights, or name another by connection.user"),
    ("permission denied", "give the user the right to read, or name another by connection.user"),
    ("not a database", "name the file of a database"),
    ("unable to open database file", "name a file in a folder that exists and may be read"),
    ("unknown database", "name a database of the server"),
    ("does not exist", f"name what exists; {_RESTART}"),
    ("doesn't exist", "name what exists"),
)
"""Words by which drivers tell, with an OperationalError, what does not pass by itself."""
_LOCKED = ("55P03", 1205)
"""PostgreSQL's SQLSTATE and MySQL's number of the error about a lock that was not got in time."""


class LockedTableError(RetriableError):
    """A table is locked by somebody else; the database answers."""


def refused(name: str, what: str) -> ConfigError:
    """An error that ends the task until somebody has done what it says."""
    return ConfigError(Problem(name, what))


def unreadable_value(database: str, source: str | None = None) -> DamagedDataError:
    """The error about a value, of a table say, that driver or SQLAlchemy cannot read; their texts have the value."""
    place = f"database {database}" if source is None else f"{source} of database {database}"
    return DamagedDataError(
        f"{place} holds a value that cannot be read as what its column's type says; correct "
        f"the row, or read it by a query that casts the column"
    )


@contextmanager
def translated(database: str, source: Callable[[], str] | None = None) -> Iterator[None]:
    """Raise this project's errors in the place of SQLAlchemy's; `database` names it without its password.

    `source` tells what the statement reads, such as a table.
    """
    try:
        yield
    except exc.DBAPIError as error:
        raise _translation(error, database, source) from None
    except exc.SQLAlchemyError as error:
        raise DamagedDataError(
            f"database {database} cannot be read: SQLAlchemy raised {type(error).__name__}; look at the names and "
            f"types of the tables that are read"
        ) from None


def _translation(error: exc.DBAPIError, database: str, source: Callable[[], str] | None) -> EosfwError:
    said = _first_line(error)
    lower = said.lower()
    if _is_locked(error):
        return LockedTableError(f"database {database}: {said}: a table is locked, as by ALTER TABLE", retry_after=1.0)
    if isinstance(error, exc.DataError) or "could not decode to utf-8" in lower:
        return unreadable_value(database, None if source is None else source())
    remedy = next((remedy for words, remedy in _PERMANENT if words in lower), None)
    if remedy is not None:
        return refused("connection.url", f"database {database} refuses: {said}; {remedy}")
    if error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InterfaceError):
        return RetriableError(f"database {database} does not answer: {said}", retry_after=1.0)
    return DamagedDataError(f"database {database} cannot be read: {said}; correct the names of tables and columns")


def _is_locked(error: exc.DBAPIError) -> bool:
    """Whether a lock was not got, by the code of the error: psycopg's is an attribute, pymysql's an argument."""
    codes = (getattr(error.orig, name, None) for name in ("sqlstate", "pgcode"))
    return any(code in _LOCKED for code in (*codes, *(error.orig.args[:1] if error.orig is not None else ())))


def _first_line(error: exc.DBAPIError) -> str:
    """The driver's own words, without the statement and its parameters."""
    arguments = error.orig.args if error.orig is not None else ()
    words = [str(one) for one in arguments if isinstance(one, str)]
    text = (words[-1] if words else type(error.orig).__name__).strip()
    return text.splitlines()[0] if text else type(error.orig).__name__
