"""Put error codes of Kafka's protocol into words."""

from __future__ import annotations

from eosfw.error_table import (
    ABORT_MARKER,
    ADD,
    ADMIN,
    DELIVERY,
    END,
    FENCE,
    INIT,
    LOST_COORDINATOR,
    MOVED,
    OFFSETS,
    PRODUCE,
    READ,
    RETRIABLE,
    TRANSACTIONS,
    ErrorTable,
    error_class,
)
from eosfw.errors import ConfigError, EosfwError, IndefiniteOutcomeError, Problem
from eosfw.kafka_codes import MEANINGS
from eosfw_memory.codes import Code

__all__ = [
    "ABORT_MARKER",
    "ADD",
    "ADMIN",
    "DELIVERY",
    "END",
    "FENCE",
    "INIT",
    "LOST_COORDINATOR",
    "MOVED",
    "OFFSETS",
    "PRODUCE",
    "READ",
    "RETRIABLE",
    "TRANSACTIONS",
    "ErrorTable",
    "at_servers",
    "error_class",
    "error_for",
    "indefinite",
]

_NAMES = {int(code): code.name for code in Code}


def at_servers(servers: str, why: Exception) -> str:
    """Why servers could not be asked, naming them once."""
    return str(why) if servers in str(why) else f"{servers}: {why}"


def error_for(code: int, table: ErrorTable, what: str, said: str | None = None) -> EosfwError:
    """One of our errors for a code; `what` says what was tried, on what; `said` is the broker's own text."""
    found, name = error_class(code, table), _NAMES.get(code, f"error code {code}")
    said = said or MEANINGS.get(code)
    if issubclass(found, ConfigError):
        return ConfigError(Problem(what, said or name))
    text = f"{what}: {said} ({name})" if said else f"{what}: {name}"
    if found is IndefiniteOutcomeError:
        text = f"{text}; it may have happened or not: discard this producer"
    return found(text)


def indefinite(what: str, why: EosfwError) -> IndefiniteOutcomeError:
    """The error of a call that left and was not answered."""
    return IndefiniteOutcomeError(f"{what}: {why}; it may have happened or not: discard this producer")
