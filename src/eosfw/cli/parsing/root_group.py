"""The root command's commands: those of eosfw, then those of other distributions."""

from __future__ import annotations

from typing import Any

from eosfw.cli.parsing.built_in_commands import SHORT_HELP, load_built_in
from eosfw.cli.parsing.command_group import SuggestingGroup
from eosfw.cli.parsing.command_plugins import command_entry_points, load_command
from eosfw.distributions import extras

_ELSEWHERE = {"certify": "pytest-eos"}
"""Commands of distributions that are no extra of eosfw."""


class RootGroup(SuggestingGroup):
    """Imports a command when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*SHORT_HELP, *(name for name in command_entry_points() if name not in SHORT_HELP)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in SHORT_HELP:
            return load_built_in(cmd_name)
        return load_command(cmd_name) if cmd_name in command_entry_points() else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the section that lists the commands; typer's own would import each of them."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))  # as typer has it
        rows = [(name, SHORT_HELP.get(name) or load_command(name).get_short_help_str(limit)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def install_hint(self, name: str) -> str:
        brings = f"'eosfw[{name}]'" if name in extras() else _ELSEWHERE.get(name)
        return f"install what brings it: pip install {brings}" if brings else ""
