"""The root command of `eosfw` with all of its commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import typer.main

from eosfw.cli import (
    acl,
    broker,
    connectors,
    doctor,
    new,
    plugins,
    read,
    run,
    top,
    topics,
    txn,
    upgrade,
    verify,
    worker,
)
from eosfw.cli.output import debug
from eosfw.cli.parsing.command_plugins import PluginGroup
from eosfw.cli.parsing.option_groups import expand_groups

_HELP = """Exactly-once source connectors and transactional messaging for Python.

Exit codes: 0 ok, 1 a verdict, a task or a step failed, 2 usage, 3 configuration, 4 damaged data, 5 fenced or
superseded, 6 cluster unavailable or not done in time, 130 interrupted (Ctrl-C, SIGTERM, SIGHUP). Data goes to stdout,
everything else to stderr.
"""


def command() -> Any:
    """The root command."""
    # Plain help: rich takes longer to format it than all the rest of `eosfw --help`.
    app = typer.Typer(cls=PluginGroup, help=_HELP, rich_markup_mode=None)
    app.callback()(_root)
    app.command("run", cls=run.RunCommand, short_help="Run a pipeline file: connectors, steps, summary.")(
        expand_groups(run.command)
    )
    app.command("worker", short_help="Run a worker of a group, controlled by REST.")(worker.command)
    app.command("read", short_help="Print a source's records, without a cluster.")(read.command)
    app.command("broker", short_help="Serve an embedded broker for any Kafka client.")(broker.command)
    app.command("plugins", short_help="List what is installed, what fails to load.")(plugins.command)
    app.command("doctor", short_help="Tell what is broken here, and its remedy.")(doctor.command)
    app.add_typer(connectors.group(), name="connectors", short_help="Control the connectors of a worker group.")
    app.command("top", short_help="Show a worker group live, as top does processes.")(expand_groups(top.command))
    app.add_typer(topics.group(), name="topics", short_help="Create, list, describe and delete topics.")
    app.add_typer(txn.group(), name="txn", short_help="Look at transactions, shut a zombie out, end what hangs.")
    app.command("verify", short_help="Look for anomalies in the history of a run.")(verify.command)
    app.add_typer(acl.group(), name="acl", short_help="List the rights that a group needs, probe them.")
    app.add_typer(upgrade.group(), name="upgrade", short_help="Tell whether a group can change its mode.")
    app.add_typer(new.group(), name="new", short_help="Write a project to start from: a connector with its tests.")
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
