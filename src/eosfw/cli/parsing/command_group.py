"""Groups of commands under one name, which suggest the nearest command for an unknown one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
import typer.core

from eosfw.cli.parsing.option_groups import expand_groups
from eosfw.config.definition.config_def import nearest


class SuggestingGroup(typer.core.TyperGroup):
    """Commands under one name; the error for an unknown one names the nearest, or all."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            near = nearest(name, known)
            others = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
            ctx.fail(f"no command {name!r}; {self.install_hint(name) or others}")
        return super().resolve_command(ctx, args)

    def install_hint(self, name: str) -> str:
        """What to install for a command, said instead of the names of others; nothing if that is unknown."""
        return ""


def command_group(help_text: str, *commands: tuple[str, Callable[..., Any], str]) -> typer.Typer:
    """A group of commands, each with its name, its function and one line of help."""
    app = typer.Typer(cls=SuggestingGroup, add_completion=False, rich_markup_mode=None)
    # With a callback, a single command stays one of a group.
    app.callback(help=help_text)(lambda: None)
    for name, function, short_help in commands:
        app.command(name, short_help=short_help)(expand_groups(function))
    return app
