"""Write docs/reference/command-line.md from the commands themselves; a test finds the page out of date."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from eosfw.cli.parsing.built_in_commands import SHORT_HELP, load_built_in
from eosfw.cli.parsing.command_plugins import load_command

PAGE = Path(__file__).with_name("command-line.md")
HEAD = """# Command line

All commands of `eosfw`, with their arguments and options. `eosfw COMMAND --help` shows the same. Data goes to stdout,
everything else to stderr; [exit codes](exit-codes.md) say how a command ended. This page is made from the code by
`python docs/reference/command_line_page.py`.

Each command takes `--help`. Before the command, `eosfw --debug` shows tracebacks and what is logged,
`eosfw --version` the version; `eosfw --install-completion` installs completion for the current shell.
"""
_CODE_OR_OPTION = re.compile(r"`[^`]*`|(?<![\w-])(--[a-z][a-z-]*)")
OF_OTHERS = {"certify": "pytest-eos", "demo": "eosfw-demo"}
"""Commands that come with other distributions of this repository."""


def page() -> str:
    """The whole page."""
    commands = [(load_built_in(name), "") for name in SHORT_HELP]
    commands += [(load_command(name), distribution) for name, distribution in OF_OTHERS.items()]
    lines = (line for command, of in commands for line in _command(command, f"eosfw {command.name}", of))
    return "\n".join([HEAD, *lines])


def _command(command: Any, name: str, distribution: str) -> Iterator[str]:
    """A command with its options, and the commands below it."""
    context = click.Context(command, info_name=name)
    yield f"## {name}\n"
    if distribution:
        yield f"Comes with `{distribution}`.\n"
    yield f"{_prose(inspect.cleandoc(command.help or ''))}\n"
    records = [each.get_help_record(context) for each in command.get_params(context) if each.name != "help"]
    if rows := [record for record in records if record is not None]:
        yield "| argument or option | meaning |"
        yield "|---|---|"
        yield from (f"| `{_cell(left)}` | {_prose(_cell(right))} |" for left, right in rows)
        yield ""
    for below in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _command(command.get_command(context, below), f"{name} {below}", "")


def _prose(text: str) -> str:
    """Options as code: two dashes in prose become one that is longer."""
    return _CODE_OR_OPTION.sub(lambda found: f"`{found[1]}`" if found[1] else found[0], text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
