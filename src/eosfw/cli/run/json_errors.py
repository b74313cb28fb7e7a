"""Failures as JSON on stdout, for programs that asked for JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eosfw.observe import History
    from eosfw.protocols import QueryProgress

Write = Callable[[str], object]


@dataclass(slots=True)
class FinishedRun:
    """What is known of a run at its end."""

    history: History | None = None
    queries: Mapping[str, QueryProgress] = field(default_factory=dict)
    """How far each streaming step came, by name."""


@contextmanager
def failure_as_json(write: Write | None) -> Iterator[FinishedRun]:
    """When the block raises, write one object with the error and the counts of the run, then let the error pass."""
    finished = FinishedRun()
    try:
        yield finished
    except Exception as error:
        if write is not None:
            _write_if_possible(write, json.dumps({"passed": False, **_counts(finished), "error": _error(error)}))
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
    from eosfw.cli.output.standard_streams import OutputError

    with suppress(OutputError):  # the failure itself is reported, not that stdout could not be written
        write(text)


def _counts(finished: FinishedRun) -> dict[str, Any]:
    history = finished.history
    counts = ("records", "transactions", "zombies_fenced")
    return {
        **{name: 0 if history is None else getattr(history, name) for name in counts},
        "streaming": {step: _query(progress) for step, progress in finished.queries.items()},
    }


def _query(progress: QueryProgress) -> dict[str, Any]:
    return {
        "batch": None if progress.batch < 0 else progress.batch,
        "rows": progress.rows,
        "behind": progress.behind,
        "held_back": list(progress.held_back),
    }


def _error(error: Exception) -> dict[str, Any]:
    from eosfw.errors import EosfwError, ExitCode

    code = error.exit_code if isinstance(error, EosfwError) else ExitCode.VERDICT_FAILED
    return {"type": type(error).__name__, "message": str(error), "exit_code": int(code)}
