"""Commands of other distributions, found by entry points in the group `eosfw.commands`."""

from __future__ import annotations

from functools import cache
from typing import Any

import typer
import typer.main

from eosfw.cli.parsing.option_groups import expand_groups
from eosfw.distributions import InstalledEntryPoint, installed_entry_points
from eosfw.errors import PluginError
from eosfw.hookspecs import COMMANDS_GROUP


@cache
def command_entry_points() -> dict[str, InstalledEntryPoint]:
    """What other distributions offer, by the name of the command."""
    return {entry_point.name: entry_point for entry_point in installed_entry_points(COMMANDS_GROUP)[0]}


@cache
def load_command(name: str) -> Any:
    """The command of an entry point; where it cannot be loaded, one that fails with the reason."""
    entry_point = command_entry_points()[name]
    try:
        offered = entry_point.load()
        app = offered if isinstance(offered, typer.Typer) else _single_command_app(name, offered)
        made = typer.main.get_command(app)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the other commands must work though one is broken)
        made = typer.main.get_command(_single_command_app(name, _broken_command(entry_point, error)))
    made.name = name
    return made


def _single_command_app(name: str, function: Any) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(expand_groups(function))
    return app


def _broken_command(entry_point: InstalledEntryPoint, error: BaseException) -> Any:
    why = f"cannot be loaded from {entry_point.dist.name}: {type(error).__name__}: {' '.join(str(error).split())}"

    def fail() -> None:
        raise PluginError(f"command {entry_point.name!r} {why}")

    fail.__doc__ = f"({why})"
    return fail
