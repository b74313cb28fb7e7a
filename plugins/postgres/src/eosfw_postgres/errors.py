"""What errors of PostgreSQL mean: try again, or a sentence with what to do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from psycopg import pq

from eosfw.errors import ConfigError, DamagedDataError, EosfwError, Problem, RetriableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["from_result", "refused", "translated", "translation", "unpublished"]

_RETRIABLE = ("08", "53", "57", "58", "40", "XX")
"""Classes of SQLSTATE that pass: connection, resources, an operator, the system, serialization, internal errors."""
_LOCKED = "55P03"
"""Of a lock that was not got in time."""
_IN_USE = "55006"
"""Of a slot that somebody else reads."""
_SLOT_FILES = ("slot.c", "logical.c", "walsender.c")
"""The server's sources that refuse a slot: an error names them in every language alike, unlike what it says."""
_ABSENT, _PUBLICATION_FUNCTION = "42704", "get_publication_oid"
"""Of a publication that does not exist, and the function that looks for it."""
_REMEDIES = {
    "28P01": ("database.password", "give the role's password"),
    "28000": (
        "database.user",
        "name a role that exists, and allow it in the server's pg_hba.conf, also for `replication`",
    ),
    "3D000": ("database.dbname", "name a database of the server"),
    "42501": (
        "database.user",
        "give the role what it lacks: REPLICATION, SELECT on the tables, CREATE on the database for a publication",
    ),
    "42P01": ("table.include.list", "name tables that exist and that the role may see"),
    "53400": (
        "slot.name",
        "drop a replication slot that nobody needs, or raise the server's max_replication_slots and max_wal_senders",
    ),
}


def refused(property_name: str, what: str) -> ConfigError:
    """An error that ends the task until somebody has done what it says."""
    return ConfigError(Problem(property_name, what))


@contextmanager
def translated(database: str) -> Iterator[None]:
    """Raise this project's errors in the place of psycopg's; `database` names it."""
    try:
        yield
    except psycopg.Error as error:
        raise translation(error, database) from None


def from_result(result: pq.abc.PGresult) -> psycopg.Error:
    """The error of a result."""
    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    message = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"the server gives no reason"
    kind = psycopg.errors.lookup(state.decode()) if state and _known(state.decode()) else psycopg.OperationalError
    return kind(message.decode(errors="replace"), info=result)


def _known(state: str) -> bool:
    try:
        psycopg.errors.lookup(state)
    except KeyError:
        return False
    return True


def translation(error: psycopg.Error, database: str) -> EosfwError:
    """This project's error in the place of one of psycopg's; `database` names the database."""
    # The primary message alone: the detail of an error may have values of a row.
    said = " ".join((error.diag.message_primary or str(error)).split())
    state = error.sqlstate or _state_of_refused_connection(said)
    if state in _REMEDIES:
        place, remedy = _REMEDIES[state]
        return refused(place, f"PostgreSQL refuses database {database}: {said}; {remedy}")
    if state == _LOCKED:
        return RetriableError(
            f"database {database}: {said}: a table is locked, as by ALTER TABLE; pg_locks says by whom", retry_after=1.0
        )
    if state is None or state[:2] in _RETRIABLE:
        return RetriableError(f"database {database} does not answer: {said}", retry_after=1.0)
    damage = DamagedDataError(f"database {database} cannot be read: {said} (SQLSTATE {state})")
    return _about_replication(error, state, said) or damage


def _about_replication(error: psycopg.Error, state: str, said: str) -> EosfwError | None:
    if state == _IN_USE:
        return RetriableError(f"slot.name: {said}; nobody else may read the slot of a connector", retry_after=1.0)
    if state == _ABSENT and error.diag.source_function == _PUBLICATION_FUNCTION:
        return unpublished()
    if error.diag.source_file in _SLOT_FILES:
        return refused(
            "slot.name",
            f"{said}; without the slot changes are missing: drop it, reset the connector's offsets, and let it take a "
            f"snapshot into new topics",
        )
    return None


def unpublished(name: str | None = None) -> ConfigError:
    """The error about changes that were made while there was no publication."""
    publication = "the publication" if name is None else f"publication {name!r}"
    return refused(
        "publication.name",
        f"{publication} did not exist while changes were made that the slot has, and the server does not tell such "
        f"changes: drop the slot, reset the connector's offsets, and let it take a snapshot into new topics",
    )


_CONNECTION_WORDS = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "pg_hba.conf rejects": "28000",
    "must be superuser or replication role": "42501",
    "permission denied to start WAL sender": "42501",
}


def _state_of_refused_connection(said: str) -> str | None:
    """The SQLSTATE of an attempt to connect, which libpq does not tell, by its words."""
    for words, state in _CONNECTION_WORDS.items():
        if words in said:
            return state
    if "does not exist" in said:
        return "3D000" if 'database "' in said else "28000"
    return None
