"""Translate each error of kafka-python, by the call that met it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafka import errors as kafka_errors

from eosfw import error_table as shared
from eosfw.error_table import Codes, ErrorTable
from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    IllegalStateError,
    IndefiniteOutcomeError,
    Problem,
)
from eosfw.kafka_codes import MEANINGS, Code

_RETRIABLE = kafka_errors.RetriableError
_NAMELESS: Mapping[type[Exception], type[EosfwError]] = {
    # Raised for an old generation, or an unknown member, of a consumer group.
    kafka_errors.CommitFailedError: AbortableError,
    kafka_errors.TransactionAbortedError: AbortableError,
    kafka_errors.LogTruncationError: DamagedDataError,
    kafka_errors.KafkaConfigurationError: ConfigError,
}
"""The library's own errors, which have no code of Kafka."""
_CODE = re.compile(r"\[Error (-?\d+)\]")
_BARE = re.compile(r"\[Error -?\d+\] \w+")
"""A code and a class name alone, which tell a user nothing."""

# The first contact has an answer of its own. Who was let in before may have another password now, and what was under
# way may have happened.
_LOST: Codes = {Code.SASL_AUTHENTICATION_FAILED: IndefiniteOutcomeError}
_REFUSED: Codes = {Code.SASL_AUTHENTICATION_FAILED: ClusterUnavailableError}

INIT = shared.INIT.extended(_LOST)
BEGIN = shared.END.extended(shared.MISSING, shared.RECORDS, _LOST)
SEND = shared.PRODUCE.extended(shared.MISSING, _LOST, retriable=AbortableError)
DELIVERY = shared.DELIVERY.extended(shared.MISSING, _LOST)
FLUSH = shared.PRODUCE.extended(shared.MISSING, _LOST)
COMMIT = shared.END.extended(shared.MISSING, shared.RECORDS, _LOST)
"""A commit also raises the errors of its records."""
SEND_OFFSETS = shared.OFFSETS.extended(shared.MISSING, _LOST)
ABORT = shared.END.extended(_LOST)
READ = shared.READ.extended(shared.MISSING, _REFUSED)
ADMIN = shared.ADMIN.extended(shared.MISSING, _REFUSED)
FENCE = shared.FENCE.extended(_REFUSED)
GROUP = shared.GROUP.extended(shared.MISSING, _REFUSED)
TRANSACTIONS = shared.TRANSACTIONS.extended(shared.MISSING, _REFUSED)
ABORT_MARKER = shared.ABORT_MARKER.extended(shared.MISSING, _REFUSED)


def code_of(error: BaseException) -> int | None:
    """Kafka's code of an error; many errors have it only in their text, or in the error they wrap."""
    if isinstance(error, kafka_errors.BrokerResponseError):
        return int(error.errno) if error.errno is not None else None
    for inner in error.args:
        if isinstance(inner, BaseException):
            return code_of(inner)
    found = _CODE.search(str(error))
    return int(found[1]) if found else None


def error_class(error: BaseException, table: ErrorTable) -> type[EosfwError]:
    """The exception class for an error of this call."""
    code = code_of(error)
    if code is not None:
        return shared.error_class(code, table)
    for kind, error_type in _NAMELESS.items():
        if isinstance(error, kind):
            return error_type
    return table.retriable if isinstance(error, _RETRIABLE) else table.default


def eosfw_error(error: BaseException, table: ErrorTable, what: str, *, fatal: bool = False) -> EosfwError:
    """The exception for an error of kafka-python; `what` names the call and its object.

    `fatal` says that the library's producer is in its fatal state, whatever the error is.
    """
    found, text = error_class(error, table), _text_of(error)
    if issubclass(found, ConfigError):
        return ConfigError(Problem(what, text))
    if fatal and not issubclass(found, FatalError):
        found = FatalError
    if found is ClusterUnavailableError:
        text = f"{text}; is the cluster running, is bootstrap.servers right?"
    return found(f"{what}: {text}")


def _text_of(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    code = code_of(error)
    if code is not None and code in MEANINGS and _BARE.fullmatch(text):
        return f"{MEANINGS[code]} ({Code(code).name})"
    return text


@contextmanager
def translated_errors(table: ErrorTable, what: str) -> Iterator[None]:
    """Raise no exception of the library out of a call."""
    try:
        yield
    except EosfwError:
        raise
    except kafka_errors.KafkaError as why:
        raise eosfw_error(why, table, what) from why
    except RuntimeError as why:
        # Another thread has closed the library's event loop.
        raise IllegalStateError(f"{what}: closed while it was under way ({why})") from why
