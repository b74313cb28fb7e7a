"""The root command of `eosfw`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import typer.main

from eosfw.cli.output import debug
from eosfw.cli.parsing.root_group import RootGroup

_HELP = """Exactly-once source connectors and transactional messaging for Python.

Exit codes: 0 ok, 1 a verdict, a task or a step failed, 2 usage, 3 configuration, 4 damaged data, 5 fenced or
superseded, 6 cluster unavailable or not done in time, 130 interrupted (Ctrl-C, SIGTERM, SIGHUP). Data goes to stdout,
everything else to stderr.
"""


def command() -> Any:
    """The root command."""
    # Plain help: rich takes longer to format it than all the rest of `eosfw --help`.
    app = typer.Typer(cls=RootGroup, help=_HELP, rich_markup_mode=None)
    app.callback()(_root)
    return typer.main.get_command(app)


def _version(wanted: bool) -> None:  # noqa: FBT001 (typer's callbacks are positional)
    if wanted:
        from eosfw import __version__

        typer.echo(f"eosfw {__version__}")
        raise typer.Exit


def _root(
    *,
    version: Annotated[  # noqa: ARG001 (its callback does the work)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version, then exit.")
    ] = False,
    tracebacks: Annotated[bool, typer.Option("--debug", help="Show tracebacks and what is logged.")] = False,
) -> None:
    if tracebacks:
        debug.enable()


_root.__doc__ = _HELP
