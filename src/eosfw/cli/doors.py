"""Let other distributions add commands."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any

import typer
import typer.core
import typer.main

from eosfw.config.definition import nearest
from eosfw.errors import PluginError

GROUP = "eosfw.commands"


class PluginGroup(typer.core.TyperGroup):
    """The root command: its own commands, then those of entry points, loaded when needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *(name for name in _doors() if name not in self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        return own if own is not None or cmd_name not in _doors() else _loaded(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
            extra = f"; or install what brings it: pip install 'eosfw[{name}]'" if name in _extras() else ""
            ctx.fail(f"no command {name!r}; {hint}{extra}")
        return super().resolve_command(ctx, args)


@cache
def _doors() -> dict[str, metadata.EntryPoint]:
    return {door.name: door for door in metadata.entry_points(group=GROUP)}


def _extras() -> list[str]:
    try:
        return metadata.metadata("eosfw").get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return []


@cache
def _loaded(name: str) -> Any:
    door = _doors()[name]
    try:
        offered = door.load()
        app = offered if isinstance(offered, typer.Typer) else _alone(name, offered)
        made = typer.main.get_command(app)
    except Exception as error:  # noqa: BLE001 (a broken command must not take the others away)
        made = typer.main.get_command(_alone(name, _broken(door, error)))
    made.name = name
    return made


def _alone(name: str, function: Any) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(function)
    return app


def _broken(door: metadata.EntryPoint, error: Exception) -> Any:
    owner = door.dist.name if door.dist is not None else "?"
    why = f"cannot be loaded from {owner}: {type(error).__name__}: {' '.join(str(error).split())}"

    def broken() -> None:
        raise PluginError(f"command {door.name!r} {why}")

    broken.__doc__ = f"({why})"
    return broken
