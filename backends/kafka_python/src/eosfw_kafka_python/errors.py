"""Give each error of kafka-python its fate, call by call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kafka import errors as kafka_errors

from eosfw import error_table as shared
from eosfw.error_table import ErrorTable
from eosfw.errors import (
    AbortableError,
    ClusterUnavailableError,
    ConfigError,
    DamagedDataError,
    EosfwError,
    FatalError,
    IllegalStateError,
    Problem,
)
from eosfw.kafka_codes import MEANINGS, Code

_RETRIABLE = kafka_errors.RetriableError
_NAMELESS: Mapping[type[Exception], type[EosfwError]] = {
    # What it makes of an old generation, or of an unknown member, of a consumer group.
    kafka_errors.CommitFailedError: AbortableError,
    kafka_errors.TransactionAbortedError: AbortableError,
    kafka_errors.LogTruncationError: DamagedDataError,
    kafka_errors.KafkaConfigurationError: ConfigError,
}
"""Errors of its own, for which Kafka has no code."""
_CODE = re.compile(r"\[Error (-?\d+)\]")
_BARE = re.compile(r"\[Error -?\d+\] \w+")
"""A code and the name of a class: nothing that a reader could act on."""

INIT = shared.INIT
BEGIN = shared.END.extended(shared.MISSING, shared.RECORDS)
SEND = shared.PRODUCE.extended(shared.MISSING, retriable=AbortableError)
DELIVERY = shared.DELIVERY.extended(shared.MISSING)
FLUSH = shared.PRODUCE.extended(shared.MISSING)
COMMIT = shared.END.extended(shared.MISSING, shared.RECORDS)
"""What became of records surfaces here, too."""
SEND_OFFSETS = shared.OFFSETS.extended(shared.MISSING)
ABORT = shared.END
READ = shared.READ.extended(shared.MISSING)
ADMIN = shared.ADMIN.extended(shared.MISSING)
FENCE = shared.FENCE
TRANSACTIONS = shared.TRANSACTIONS.extended(shared.MISSING)
ABORT_MARKER = shared.ABORT_MARKER.extended(shared.MISSING)


def code_of(error: BaseException) -> int | None:
    """Kafka's code of an error; of many the library keeps it in the text alone, or in what it wraps."""
    if isinstance(error, kafka_errors.BrokerResponseError):
        return int(error.errno) if error.errno is not None else None
    for inner in error.args:
        if isinstance(inner, BaseException):
            return code_of(inner)
    found = _CODE.search(str(error))
    return int(found[1]) if found else None


def error_class(error: BaseException, table: ErrorTable) -> type[EosfwError]:
    """The class of ours that an error of this call becomes."""
    code = code_of(error)
    if code is not None:
        return shared.error_class(code, table)
    for kind, error_type in _NAMELESS.items():
        if isinstance(error, kind):
            return error_type
    return table.retriable if isinstance(error, _RETRIABLE) else table.default


def eosfw_error(error: BaseException, table: ErrorTable, what: str, *, fatal: bool = False) -> EosfwError:
    """One of our errors for one of kafka-python's; `what` says what was tried, on what.

    `fatal` tells that the library's producer can do nothing more, whatever the error says.
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
    """Let no exception of the library out of a call."""
    try:
        yield
    except EosfwError:
        raise
    except kafka_errors.KafkaError as why:
        raise eosfw_error(why, table, what) from why
    except RuntimeError as why:
        # Its event loop was closed by another thread.
        raise IllegalStateError(f"{what}: closed while it was under way ({why})") from why
