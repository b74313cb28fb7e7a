"""Groups of commands that suggest the nearest name for one that is unknown."""

from __future__ import annotations

from typing import Any

import typer.core

from eosfw.config.definition import nearest


class SuggestingGroup(typer.core.TyperGroup):
    """Commands under one name; the error for an unknown one names the nearest, or all."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
            ctx.fail(f"no command {name!r}; {hint}{self.install_hint(name)}")
        return super().resolve_command(ctx, args)

    def install_hint(self, name: str) -> str:
        """What to install for a command, to be added to the error; nothing if that is unknown."""
        return ""
