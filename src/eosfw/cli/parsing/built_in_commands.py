"""Commands of eosfw itself, each imported when it is called: together they are the longest part of a start."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
import typer.main

from eosfw.cli.parsing.option_groups import expand_groups

SHORT_HELP = {
    "run": "Run a pipeline file: connectors, steps, summary.",
    "worker": "Run a worker of a group, controlled by REST.",
    "read": "Print a source's records, without a cluster.",
    "broker": "Serve an embedded broker for any Kafka client.",
    "plugins": "List what is installed, what fails to load.",
    "doctor": "Tell what is broken here, and its remedy.",
    "connectors": "Control the connectors of a worker group.",
    "top": "Show a worker group live, as top does processes.",
    "topics": "Create, list, describe and delete topics.",
    "txn": "Look at transactions, shut a zombie out, end what hangs.",
    "verify": "Look for anomalies in the history of a run.",
    "timeline": "Draw the events that show an anomaly.",
    "acl": "List the rights that a group needs, probe them.",
    "upgrade": "Tell whether a group can change its mode.",
    "new": "Write a project to start from: a connector with its tests.",
}
"""One line of help by command, in the order of `eosfw --help`; the command is in the module of its name."""


def load_built_in(name: str) -> Any:
    """The command, or the group of commands, that `eosfw.cli.NAME` offers."""
    module = import_module(f"eosfw.cli.{name}")
    if hasattr(module, "group"):
        app: typer.Typer = module.group()
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, cls=getattr(module, "COMMAND_CLASS", None))(expand_groups(module.command))
    made = typer.main.get_command(app)
    made.name = name
    return made
