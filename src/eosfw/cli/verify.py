"""`eosfw verify`: check the history of a run for anomalies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eosfw.cli.output.stdout import reserved_stdout
from eosfw.errors import ConfigError, ExitCode, Problem

if TYPE_CHECKING:
    from eosfw.checker import CheckedHistory


def command(
    history: Annotated[Path, typer.Argument(help="A history: one operation a line, the last one `end`.")],
    *,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="NAME", help="A fault that has to be in the history; may be repeated."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Name what a history shows that must not be, each with the events that show it.

    Exit code 1 if there is an anomaly, or if the history shows nothing because it is cut off or lacks a fault.
    """
    from eosfw.checker import Judgement, check_history, read_history, report_lines
    from eosfw.config.named_file import unreadable

    try:
        operations = read_history(history)
    except OSError as why:
        raise ConfigError(Problem(str(history), unreadable(why))) from None
    checked = check_history(operations, fault or ())
    with reserved_stdout() as write:
        write(json.dumps(_as_json(checked)) if json_ else "\n".join(report_lines(checked)))
    if checked.judgement is not Judgement.GOOD:
        raise typer.Exit(ExitCode.VERDICT_FAILED)


def _as_json(checked: CheckedHistory) -> dict[str, Any]:
    from eosfw.checker import operation_to_json

    return {
        "judgement": checked.judgement.value,
        "anomalies": [
            {
                "name": found.name,
                "what": found.what,
                "witness": [json.loads(operation_to_json(event)) for event in found.witness],
            }
            for found in checked.anomalies
        ],
        "nothing_shown": list(checked.gaps),
        "not_looked_for": list(checked.not_looked_for),
        "committed": checked.committed,
        "records": checked.records,
    }
