"""Commands of other distributions, found by entry points in the group `eosfw.commands`."""

from __future__ import annotations

from functools import cache
from typing import Any

import typer
import typer.main

from eosfw.cli.parsing.command_group import SuggestingGroup
from eosfw.errors import PluginError
from eosfw.hookspecs import COMMANDS_GROUP
from eosfw.util.distributions import InstalledEntryPoint, extras, installed_entry_points


class PluginGroup(SuggestingGroup):
    """The root command: its own commands, then those of entry points, which are imported when needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *(name for name in _entry_points() if name not in self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        return own if own is not None or cmd_name not in _entry_points() else _load_command(cmd_name)

    def install_hint(self, name: str) -> str:
        return f"; or install what brings it: pip install 'eosfw[{name}]'" if name in extras() else ""


@cache
def _entry_points() -> dict[str, InstalledEntryPoint]:
    return {entry_point.name: entry_point for entry_point in installed_entry_points(COMMANDS_GROUP)[0]}


@cache
def _load_command(name: str) -> Any:
    entry_point = _entry_points()[name]
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
    app.command(name)(function)
    return app


def _broken_command(entry_point: InstalledEntryPoint, error: BaseException) -> Any:
    why = f"cannot be loaded from {entry_point.dist.name}: {type(error).__name__}: {' '.join(str(error).split())}"

    def fail() -> None:
        raise PluginError(f"command {entry_point.name!r} {why}")

    fail.__doc__ = f"({why})"
    return fail
