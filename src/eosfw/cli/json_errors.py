"""Failures as JSON on stdout, for programs that asked for JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eosfw.observe import History

Write = Callable[[str], object]


@dataclass(slots=True)
class FinishedRun:
    """What is known of a run at its end."""

    history: History | None = None


@contextmanager
def failure_as_json(write: Write | None) -> Iterator[FinishedRun]:
    """When the block raises, write one object with the error and the counts of the run, then let the error pass."""
    finished = FinishedRun()
    try:
        yield finished
    except Exception as error:
        if write is not None:
            _write_if_possible(
                write, json.dumps({"passed": False, **_counts(finished.history), "error": _error(error)})
            )
        raise


@contextmanager
def problems_as_json(write: Write | None) -> Iterator[None]:
    """When the block raises the problems of a configuration, write them as one object, then let the error pass."""
    from eosfw.errors import ConfigError, SourceUnavailableError

    try:
        yield
    except (ConfigError, SourceUnavailableError) as error:
        if write is not None:
            _write_if_possible(
                write, json.dumps({"problems": [{"where": one.where, "what": one.what} for one in error.problems]})
            )
        raise


def _write_if_possible(write: Write, text: str) -> None:
    from eosfw.cli.standard_streams import OutputError

    with suppress(OutputError):  # the failure itself is reported, not that stdout could not be written
        write(text)


def _counts(history: History | None) -> dict[str, Any]:
    if history is None:
        return {"records": 0, "transactions": 0, "zombies_fenced": 0}
    return {
        "records": history.records,
        "transactions": history.transactions,
        "zombies_fenced": history.zombies_fenced,
    }


def _error(error: Exception) -> dict[str, Any]:
    from eosfw.errors import EosfwError, ExitCode

    code = error.exit_code if isinstance(error, EosfwError) else ExitCode.VERDICT_FAILED
    return {"type": type(error).__name__, "message": str(error), "exit_code": int(code)}
