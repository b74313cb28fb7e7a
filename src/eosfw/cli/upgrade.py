"""The command line of `eosfw upgrade`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from eosfw.cli.acl.group_files import GroupFiles
from eosfw.cli.output.rows import RowFormat
from eosfw.cli.output.stdout import reserved_stdout
from eosfw.cli.parsing.command_group import command_group
from eosfw.errors import ExitCode

_HELP = "Tell whether a worker group is ready for another mode of exactly-once support (KIP-618's rolling upgrades)."


def group() -> typer.Typer:
    """The command with what can be known before an upgrade."""
    return command_group(
        _HELP,
        ("check", check, "Look at the live workers and at offsets topics."),
    )


def check(
    files: GroupFiles,
    *,
    backend: Annotated[str | None, typer.Option("--backend", help="The client to use.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Tell whether a worker may be restarted with this file: the live workers' modes, offsets topics that are stale.

    `exactly.once.source.support` in the file is the mode that the worker is about to have. Nothing is changed. Exit
    code 1 if something would void the guarantees.
    """
    from eosfw.cli.acl.group_files import read_group
    from eosfw.cli.acl.session import connected
    from eosfw.concurrency import ThreadRuntime
    from eosfw.registry import load_plugins
    from eosfw.runtime.checks.upgrade_check import UpgradeCheck, Verdict

    shown, described = RowFormat.of_stdout("findings", json=json_), read_group(files)
    with reserved_stdout() as write, connected(described, backend) as client:
        findings = UpgradeCheck(described.worker, client, load_plugins(), ThreadRuntime()).findings()
        write(
            shown.table([{"subject": one.subject, "verdict": one.verdict.value, "text": one.text} for one in findings])
        )
    if problems := sum(one.verdict is Verdict.PROBLEM for one in findings):
        print(f"eosfw: {problems} to mend first", file=sys.stderr)
        raise typer.Exit(ExitCode.VERDICT_FAILED)
