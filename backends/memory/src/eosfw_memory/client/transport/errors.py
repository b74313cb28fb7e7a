"""Make the errors that this client raises from error codes of Kafka's protocol."""

from __future__ import annotations

from eosfw.error_table import ErrorTable, error_class
from eosfw.errors import ClusterUnavailableError, ConfigError, EosfwError, IndefiniteOutcomeError, Problem
from eosfw.kafka_codes import MEANINGS
from eosfw_memory.common.codes import Code

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


def unavailable(what: str, why: EosfwError) -> ClusterUnavailableError:
    """The error of a call that changed nothing, or may be repeated, and was not answered in time."""
    question = "; is the cluster running?"
    return ClusterUnavailableError(f"{what}: {str(why).removesuffix(question)}{question}")
